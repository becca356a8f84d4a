package definition

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/registry"
)

// Delete begins the end of a definition: its objects must go before it does. Only what is being deleted already is left to
// the Store, which waits for the finalizers.
func (r *REST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	d, err := builtin.As[*crd](obj)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	if options, err = pin(d, options); err != nil {
		return nil, false, err
	}
	if !d.DeletionTimestamp.IsZero() {
		return r.Store.Delete(ctx, name, deleteValidation, options)
	}
	out, err := r.terminate(ctx, name, deleteValidation, options)
	return out, false, err
}

// DeleteCollection deletes one by one as Delete does. A Store's own would remove definitions whose objects are still there,
// and nobody could reach those any more. On the first error the rest stays.
func (r *REST) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	list, err := r.List(ctx, listOptions)
	if err != nil {
		return nil, err
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		_, _, err := r.Delete(ctx, item.(*crd).Name, deleteValidation, options.DeepCopy())
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// pin makes the UID that was seen a precondition, so that what follows is about this definition and not a later one of its
// name.
func pin(d *crd, options *metav1.DeleteOptions) (*metav1.DeleteOptions, error) {
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	options = options.DeepCopy()
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	p := options.Preconditions
	if p.UID == nil {
		p.UID = &d.UID
	} else if *p.UID != d.UID {
		return nil, conflict(d, "UID", *p.UID, d.UID)
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != d.ResourceVersion {
		return nil, conflict(d, "ResourceVersion", *p.ResourceVersion, d.ResourceVersion)
	}
	return options, nil
}

func conflict(d *crd, what string, want, has any) error {
	return apierrors.NewConflict(resource, d.Name,
		fmt.Errorf("precondition failed: %s in precondition: %v, %s in object meta: %v", what, want, what, has))
}

// terminate marks the definition as deleting, with the finalizer of the controller that will delete its objects.
func (r *REST) terminate(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, error) {
	key, err := r.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	preconditions := &store.Preconditions{UID: options.Preconditions.UID, ResourceVersion: options.Preconditions.ResourceVersion}
	out := &crd{}
	err = r.Storage.GuaranteedUpdate(ctx, key, out, false, preconditions,
		func(input runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
			if err := deleteValidation(ctx, input); err != nil {
				return nil, nil, err
			}
			d := input.(*crd).DeepCopy()
			if d.DeletionTimestamp.IsZero() {
				d.DeletionTimestamp = new(metav1.Now())
			}
			if !apiextensions.CRDHasFinalizer(d, apiextensions.CustomResourceCleanupFinalizer) {
				d.Finalizers = append(d.Finalizers, apiextensions.CustomResourceCleanupFinalizer)
			}
			apiextensions.SetCRDCondition(d, terminating)
			return d, nil, nil
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

var terminating = apiextensions.CustomResourceDefinitionCondition{
	Type:    apiextensions.Terminating,
	Status:  apiextensions.ConditionTrue,
	Reason:  "InstanceDeletionPending",
	Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
}
