package backend

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend/factory"
)

// StorageDecorator makes the storage of a resource: etcd3's, or that with something in front of it.
type StorageDecorator func(
	config *ConfigForResource,
	resourcePrefix string,
	keyFunc func(obj runtime.Object) (string, error),
	newFunc func() runtime.Object,
	newListFunc func() runtime.Object,
	getAttrsFunc store.AttrFunc,
	trigger store.IndexerFuncs,
	indexers *cache.Indexers) (store.Interface, DestroyFunc, error)

// UndecoratedStorage is the StorageDecorator that puts nothing in front of etcd3.
func UndecoratedStorage(
	config *ConfigForResource,
	resourcePrefix string,
	_ func(obj runtime.Object) (string, error),
	newFunc func() runtime.Object,
	newListFunc func() runtime.Object,
	_ store.AttrFunc,
	_ store.IndexerFuncs,
	_ *cache.Indexers) (store.Interface, DestroyFunc, error) {
	return NewRawStorage(config, newFunc, newListFunc, resourcePrefix)
}

// NewRawStorage makes the storage that a cacher stands in front of.
func NewRawStorage(config *ConfigForResource, newFunc, newListFunc func() runtime.Object, resourcePrefix string) (store.Interface, DestroyFunc, error) {
	return factory.Create(*config, newFunc, newListFunc, resourcePrefix)
}
