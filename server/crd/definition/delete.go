package definition

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/registry"
)

// Delete starts the deletion of a definition, whose objects must be deleted first. Once it has started, the
// Store waits for the finalizers.
func (r *REST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	d, err := builtin.As[*crd](obj)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	if options, err = registry.PinDeletion(d, options); err != nil {
		return nil, false, apierrors.NewConflict(resource, name, fmt.Errorf("precondition failed: %w", err))
	}
	if !d.DeletionTimestamp.IsZero() {
		return r.Store.Delete(ctx, name, deleteValidation, options)
	}
	out, err := r.Terminate(ctx, name, deleteValidation, options, terminate)
	return out, false, err
}

// DeleteCollection deletes one definition after the other by Delete. The Store's own method would remove
// definitions that still have objects, and these would become unreachable. It stops at the first error.
func (r *REST) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	list, err := r.ListEncoded(ctx, listOptions)
	if err != nil {
		return nil, err
	}
	err = object.Each(ctx, list, func(item runtime.Object) error {
		d, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		_, _, err = r.Delete(ctx, d.GetName(), deleteValidation, options.DeepCopy())
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

// terminate adds the finalizer of the controller that deletes the definition's objects.
func terminate(obj runtime.Object) {
	d := obj.(*crd)
	if !apiextensions.CRDHasFinalizer(d, apiextensions.CustomResourceCleanupFinalizer) {
		d.Finalizers = append(d.Finalizers, apiextensions.CustomResourceCleanupFinalizer)
	}
	apiextensions.SetCRDCondition(d, terminating)
}

var terminating = apiextensions.CustomResourceDefinitionCondition{
	Type:    apiextensions.Terminating,
	Status:  apiextensions.ConditionTrue,
	Reason:  "InstanceDeletionPending",
	Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
}
