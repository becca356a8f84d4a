package work

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/handler"
)

// Scope returns the handlers' request scope of a resource, or of "resource/subresource", nil if it is not
// served.
type Scope func(ctx context.Context, resource schema.GroupVersionResource) (*handler.RequestScope, error)

// scope returns the scope of the write in ctx. It is nil if the write skips admission.
func (w *Writer) scope(ctx context.Context) (*handler.RequestScope, *request.RequestInfo, error) {
	info, _ := request.RequestInfoFrom(ctx)
	if w.Scope == nil {
		return nil, info, nil
	}
	resource := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	if info.Subresource != "" {
		resource.Resource += "/" + info.Subresource
	}
	scope, err := w.Scope(ctx, resource)
	return scope, info, err
}

// Create creates an object through a storage, and runs admission as for a client's request. ctx comes from
// Begin.
func (w *Writer) Create(ctx context.Context, storage rest.Creater, name string, obj runtime.Object) (runtime.Object, error) {
	scope, info, err := w.scope(ctx)
	if err != nil {
		return nil, err
	}
	validate, options := rest.ValidateObjectFunc(rest.ValidateAllObjectFunc), &metav1.CreateOptions{}
	if scope != nil {
		if ctx, validate, err = scope.AdmitCreate(ctx, storage, info.Namespace, name, obj, options); err != nil {
			return nil, err
		}
	}
	return storage.Create(ctx, obj, validate, options)
}

// Update changes an object through a storage, and runs admission on its next state.
func (w *Writer) Update(ctx context.Context, storage rest.Updater, name string, next rest.UpdatedObjectInfo) (runtime.Object, error) {
	scope, info, err := w.scope(ctx)
	if err != nil {
		return nil, err
	}
	options, permit := &metav1.UpdateOptions{}, rest.UpdateAdmission{}
	if scope != nil {
		var admit rest.TransformFunc
		admit, permit.Update = scope.AdmitUpdate(ctx, info.Namespace, name, options)
		next = rest.WrapUpdatedObjectInfo(next, admit)
	}
	updated, _, err := storage.Update(ctx, name, next, permit, options)
	return updated, err
}

// Delete deletes an object through a storage, and runs admission first.
func (w *Writer) Delete(ctx context.Context, storage rest.GracefulDeleter, name string, options *metav1.DeleteOptions) error {
	validate, err := w.DeleteValidation(ctx, name, options)
	if err == nil {
		_, _, err = storage.Delete(ctx, name, validate, options)
	}
	return err
}

// DeleteValidation returns a function that runs admission on each object to delete. Without a name it is a collection.
func (w *Writer) DeleteValidation(ctx context.Context, name string, options *metav1.DeleteOptions) (rest.ValidateObjectFunc, error) {
	scope, info, err := w.scope(ctx)
	if err != nil || scope == nil {
		return rest.ValidateAllObjectFunc, err
	}
	return scope.AdmitDelete(ctx, info.Namespace, name, options), nil
}
