package plugin

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// Kit has what plugins ask of the server.
type Kit struct {
	Authorizer authorizer.Authorizer
	// Storage returns that of a built-in resource, nil if it is not served. It is set when the API is installed, before the first request.
	Storage func(schema.GroupVersionResource) rest.Storage
}

// Objects are those of one built-in resource, as plugins read them. Where the resource is not served there are none.
type Objects[T builtin.Object] struct {
	kit      *Kit
	resource schema.GroupVersionResource
}

// ObjectsOf returns the objects of a resource.
func ObjectsOf[T builtin.Object](kit *Kit, resource schema.GroupVersionResource) Objects[T] {
	return Objects[T]{kit, resource}
}

// Get returns an object as it is now. It may be shared: the caller must not change it.
func (o Objects[T]) Get(ctx context.Context, namespace, name string) (obj T, found bool, err error) {
	getter, ok := o.kit.Storage(o.resource).(rest.Getter)
	if !ok {
		return obj, false, nil
	}
	got, err := getter.Get(o.reading(ctx, "get", namespace, name), name, &metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return obj, false, nil
	}
	if err == nil {
		obj, err = builtin.As[T](got)
	}
	return obj, err == nil, o.failed(ctx, err)
}

// List returns the objects of a namespace, or all of them if it is empty. They may be shared.
func (o Objects[T]) List(ctx context.Context, namespace string) (all []T, err error) {
	lister, ok := o.kit.Storage(o.resource).(rest.Lister)
	if !ok {
		return nil, nil
	}
	list, err := lister.List(o.reading(ctx, "list", namespace, ""), &metainternalversion.ListOptions{})
	if err == nil {
		err = object.Each(ctx, list, func(item runtime.Object) error {
			obj, err := builtin.As[T](item)
			all = append(all, obj)
			return err
		})
	}
	return all, o.failed(ctx, err)
}

// reading describes the read. Errors name its resource.
func (o Objects[T]) reading(ctx context.Context, verb, namespace, name string) context.Context {
	ctx = request.WithNamespace(ctx, namespace)
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: o.resource.Group, APIVersion: o.resource.Version, Resource: o.resource.Resource,
		Namespace: namespace, Name: name,
	})
}

// failed says what a plugin could not read. That the time of the request is up is the handler's to say.
func (o Objects[T]) failed(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return apierrors.NewInternalError(fmt.Errorf("admission can't read %s: %w", o.resource.GroupResource(), err))
}
