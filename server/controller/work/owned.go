package work

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
)

// ManagedStorage is a storage whose objects a controller creates, changes and deletes.
type ManagedStorage interface {
	rest.Lister
	rest.Creater
	rest.Updater
	rest.GracefulDeleter
}

// ManagedResource is a resource in which a server manages some objects.
type ManagedResource[T builtin.Object] struct {
	Storage  ManagedStorage
	Resource schema.GroupVersionResource
}

// Request returns the context of a request for the resource by the server's own user.
func (o ManagedResource[T]) Request(ctx context.Context, verb string) context.Context {
	return WithRequest(ctx, APIServer, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: o.Resource.Group, APIVersion: o.Resource.Version, Resource: o.Resource.Resource,
	})
}

// List returns the existing objects by name, without those that can't be read. It does not start the filling of
// a watch cache.
func (o ManagedResource[T]) List(ctx context.Context) (map[string]T, error) {
	list, _, err := builtin.ListReadable(store.WithAside(o.Request(ctx, "list")), o.Storage, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	byName := map[string]T{}
	return byName, meta.EachListItem(list, func(obj runtime.Object) error {
		t, err := builtin.As[T](obj)
		if err == nil {
			byName[t.GetName()] = t
		}
		return err
	})
}

// UnlessOvertaken drops the error of a write that another writer has made superfluous. The next check finds any
// remaining work.
func UnlessOvertaken(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
