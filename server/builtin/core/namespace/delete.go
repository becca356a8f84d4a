package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/registry"
)

var resource = corev1.Resource("namespaces")

// Delete begins the end of a namespace, and removes it only if nothing is in the way any more.
func (r *REST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	ns, err := builtin.As[*corev1.Namespace](obj)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	if options, err = pin(ns, options); err != nil {
		return nil, false, err
	}
	switch {
	case ns.DeletionTimestamp.IsZero():
		out, err := r.terminate(ctx, name, deleteValidation, options)
		return out, false, err
	case len(ns.Spec.Finalizers) != 0:
		return ns, false, nil
	}
	return r.store.Delete(ctx, name, deleteValidation, options)
}

// pin makes the UID that was seen a precondition, so that what follows is about this namespace and not a later one of its
// name.
func pin(ns *corev1.Namespace, options *metav1.DeleteOptions) (*metav1.DeleteOptions, error) {
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	options = options.DeepCopy()
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	p := options.Preconditions
	if p.UID == nil {
		p.UID = &ns.UID
	} else if *p.UID != ns.UID {
		return nil, conflict(ns, "UID", *p.UID, ns.UID)
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != ns.ResourceVersion {
		return nil, conflict(ns, "ResourceVersion", *p.ResourceVersion, ns.ResourceVersion)
	}
	return options, nil
}

func conflict(ns *corev1.Namespace, what string, want, has any) error {
	msg := fmt.Sprintf("Precondition failed: %s in precondition: %v, %s in object meta: %v", what, want, what, has)
	return apierrors.NewConflict(resource, ns.Name, errors.New(msg))
}

// terminate gives the namespace its deletionTimestamp and the phase Terminating.
func (r *REST) terminate(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, error) {
	key, err := r.store.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	preconditions := &store.Preconditions{UID: options.Preconditions.UID, ResourceVersion: options.Preconditions.ResourceVersion}
	out := &corev1.Namespace{}
	err = r.store.Storage.GuaranteedUpdate(ctx, key, out, false, preconditions,
		func(input runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
			ns := input.(*corev1.Namespace)
			if err := deleteValidation(ctx, ns); err != nil {
				return nil, nil, err
			}
			ns = ns.DeepCopy()
			if ns.DeletionTimestamp.IsZero() {
				ns.DeletionTimestamp = new(metav1.Now())
			}
			ns.Status.Phase = corev1.NamespaceTerminating
			setPropagationFinalizers(ns, options)
			return ns, nil, nil
		}, len(options.DryRun) > 0, nil)
	if err == nil {
		return out, nil
	}
	err = registry.InterpretUpdateError(err, resource, name)
	if status := (apierrors.APIStatus)(nil); !errors.As(err, &status) {
		err = apierrors.NewInternalError(err)
	}
	return nil, err
}

// setPropagationFinalizers makes the finalizers by which dependents are orphaned or deleted first what the options say.
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
