package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

func namespacesOf(kit *plugin.Kit) plugin.Objects[*corev1.Namespace] {
	return plugin.ObjectsOf[*corev1.Namespace](kit, corev1.SchemeGroupVersion.WithResource("namespaces"))
}

// inNamespace reports whether a write is about an object in a namespace.
func inNamespace(a admission.Attributes) bool {
	return a.GetNamespace() != "" && a.GetKind().GroupKind() != corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()
}

var (
	namespaceThere = trace.Because("namespace-there", "the namespace exists", "命名空间存在")
	namespaceMade  = trace.Because("namespace-made",
		"the namespace {namespace:quote} did not exist: it was created",
		"命名空间 {namespace:quote} 原本不存在，已创建")
)

// namespaceAutoProvision creates the namespace of a new object if it is missing, except in a dry run.
func namespaceAutoProvision(kit *plugin.Kit) plugin.Plugin {
	namespaces := namespacesOf(kit)
	return plugin.Plugin{
		Operations: onCreate,
		When:       func(a admission.Attributes) bool { return inNamespace(a) && !a.IsDryRun() },
		Admit: func(ctx context.Context, w plugin.Write) error {
			name := w.GetNamespace()
			_, found, err := namespaces.Get(ctx, "", name)
			if err != nil {
				return w.Refusal("%w", err)
			}
			if found {
				w.Step.Why(namespaceThere)
				return nil
			}
			err = namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return w.Refusal("%w", err)
			}
			w.Step.WhyText(namespaceMade, name)
			return nil
		},
	}
}

// namespaceExists refuses writes in a namespace that does not exist. namespaceLifecycle checks only new
// objects.
func namespaceExists(kit *plugin.Kit) plugin.Plugin {
	namespaces := namespacesOf(kit)
	return plugin.Plugin{
		Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete},
		When:       inNamespace,
		ReadOnly:   true,
		Validate: func(ctx context.Context, w plugin.Write) error {
			_, found, err := namespaces.Get(ctx, "", w.GetNamespace())
			if err != nil {
				return err
			}
			if !found {
				return apierrors.NewNotFound(corev1.Resource("namespaces"), w.GetNamespace())
			}
			w.Step.Why(namespaceThere)
			return nil
		},
	}
}
