package core

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/registry"
)

var namespaceResource = corev1.Resource("namespaces")

// Delete marks a namespace as terminating. It removes the namespace only if no finalizer is left.
func (r *NamespaceREST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	ns, err := builtin.As[*corev1.Namespace](obj)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	if options, err = registry.PinDeletion(ns, options); err != nil {
		return nil, false, apierrors.NewConflict(namespaceResource, name, errors.New("Precondition failed: "+err.Error()))
	}
	switch {
	case ns.DeletionTimestamp.IsZero():
		out, err := r.store.Terminate(ctx, name, deleteValidation, options, func(obj runtime.Object) {
			ns := obj.(*corev1.Namespace)
			ns.Status.Phase = corev1.NamespaceTerminating
			setPropagationFinalizers(ns, options)
		})
		return out, false, err
	case len(ns.Spec.Finalizers) != 0:
		return ns, false, nil
	}
	return r.store.Delete(ctx, name, deleteValidation, options)
}

// setPropagationFinalizers sets the finalizers that orphan dependents or delete them first, according to the options.
func setPropagationFinalizers(ns *corev1.Namespace, options *metav1.DeleteOptions) {
	//lint:ignore SA1019 deprecated, and clients still send it
	dependents := options.OrphanDependents
	var orphan, foreground bool
	switch {
	case dependents != nil:
		orphan, foreground = *dependents, !*dependents
	case options.PropagationPolicy != nil:
		orphan = *options.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *options.PropagationPolicy == metav1.DeletePropagationForeground
	default:
		return
	}
	for _, f := range []struct {
		name string
		want bool
	}{{metav1.FinalizerOrphanDependents, orphan}, {metav1.FinalizerDeleteDependents, foreground}} {
		has := slices.Contains(ns.Finalizers, f.name)
		if f.want && !has {
			ns.Finalizers = append(ns.Finalizers, f.name)
		} else if !f.want && has {
			ns.Finalizers = slices.DeleteFunc(ns.Finalizers, func(s string) bool { return s == f.name })
		}
	}
}
