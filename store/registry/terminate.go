package registry

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store"
)

// PinDeletion makes the UID that was seen a precondition of a deletion, so that what follows is about this object and
// not a later one of its name. The error says which of the preconditions does not hold.
func PinDeletion(obj metav1.Object, options *metav1.DeleteOptions) (*metav1.DeleteOptions, error) {
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	options = options.DeepCopy()
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	p := options.Preconditions
	if p.UID == nil {
		p.UID = new(obj.GetUID())
	} else if *p.UID != obj.GetUID() {
		return nil, unmet("UID", *p.UID, obj.GetUID())
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != obj.GetResourceVersion() {
		return nil, unmet("ResourceVersion", *p.ResourceVersion, obj.GetResourceVersion())
	}
	return options, nil
}

func unmet(what string, want, has any) error {
	return fmt.Errorf("%s in precondition: %v, %s in object meta: %v", what, want, what, has)
}

// Terminate marks an object as deleting, for those that must act before it can go: it gets a deletionTimestamp, and
// what mark does to it. The options are pinned.
func (e *Store) Terminate(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	mark func(obj runtime.Object)) (runtime.Object, error) {
	key, err := e.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	preconditions := &store.Preconditions{UID: options.Preconditions.UID, ResourceVersion: options.Preconditions.ResourceVersion}
	out := e.NewFunc()
	_, err = e.Storage.GuaranteedUpdate(ctx, key, out,
		func(input runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
			if err := deleteValidation(ctx, input); err != nil {
				return nil, nil, err
			}
			obj := input.DeepCopyObject()
			m := obj.(metav1.Object)
			if m.GetDeletionTimestamp().IsZero() {
				m.SetDeletionTimestamp(new(metav1.Now()))
			}
			mark(obj)
			return obj, nil, nil
		}, len(options.DryRun) > 0, store.UpdateOptions{Preconditions: preconditions})
	if err == nil {
		return out, nil
	}
	err = InterpretUpdateError(ctx, err, e.DefaultQualifiedResource, name)
	if status := (apierrors.APIStatus)(nil); !errors.As(err, &status) && !errors.Is(err, store.ErrRewound) {
		err = apierrors.NewInternalError(err)
	}
	return nil, err
}
