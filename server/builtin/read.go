package builtin

import (
	"context"
	"errors"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
)

// ErrNotServed is the error of reads from a storage that does not exist, or that has no such reads.
var ErrNotServed = errors.New("the resource is not served")

// Get reads an object from a storage. ctx says for whom, and in which namespace. The object may be shared: the caller
// must not change it.
func Get[T runtime.Object](ctx context.Context, from rest.Storage, name string, options *metav1.GetOptions) (obj T, err error) {
	getter, ok := from.(rest.Getter)
	if !ok {
		return obj, ErrNotServed
	}
	got, err := getter.Get(ctx, name, options)
	if err != nil {
		return obj, err
	}
	return As[T](got)
}

// List reads the objects of a storage, as Get reads one. It fails if one of them can't be read.
func List[T runtime.Object](ctx context.Context, from rest.Storage, options *metainternalversion.ListOptions) (all []T, err error) {
	lister, ok := from.(rest.Lister)
	if !ok {
		return nil, ErrNotServed
	}
	list, err := lister.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return all, object.Each(ctx, list, func(item runtime.Object) error {
		obj, err := As[T](item)
		if err == nil {
			all = append(all, obj)
		}
		return err
	})
}
