package backend

import (
	"fmt"
	"log/slog"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/cacher"
)

// StorageDecorator makes the storage of a resource: that of etcd3, or one with a cacher in front of it.
type StorageDecorator func(
	config *ConfigForResource,
	resourcePrefix string,
	newFunc func() runtime.Object,
	newListFunc func() runtime.Object,
	getAttrsFunc store.AttrFunc,
	trigger store.IndexerFuncs) (store.Interface, DestroyFunc, error)

// UndecoratedStorage is the StorageDecorator that puts nothing in front of etcd3.
func UndecoratedStorage(
	config *ConfigForResource,
	resourcePrefix string,
	newFunc func() runtime.Object,
	newListFunc func() runtime.Object,
	_ store.AttrFunc,
	_ store.IndexerFuncs) (_ store.Interface, _ DestroyFunc, err error) {
	note := trace.Note(config.Notes, steps.StorageUndecorated, config.GroupResource.String())
	defer note.End(&err)
	return NewRawStorage(config, newFunc, newListFunc, resourcePrefix)
}

// NewRawStorage makes the storage on etcd, without a cacher.
func NewRawStorage(config *ConfigForResource, newFunc, newListFunc func() runtime.Object, resourcePrefix string) (_ store.Interface,
	_ DestroyFunc, err error) {
	note := trace.Note(config.Notes, steps.StorageRaw, resourcePrefix)
	defer note.End(&err)
	return factory.Create(*config, newFunc, newListFunc, resourcePrefix)
}

// parallelFills limits the caches that fill at the same time. More would not be ready earlier, and would hold all
// that they read in memory at once.
const parallelFills = 8

var (
	fillsAtOnce = trace.Because("fills-at-once",
		"--watch-cache-prefill: the cache fills itself at once",
		"--watch-cache-prefill：缓存立即开始填充")
	fillsWhenRead = trace.Because("fills-when-read",
		"the cache fills itself when somebody reads the resource for the first time",
		"缓存在第一次有人读该资源时填充")
)

// StorageWithCacher makes the StorageDecorator that puts a cacher in front of etcd3. The cachers of one decorator
// take turns to fill themselves, are listed in caches as long as they run, obey the faults of control, and log the
// loss of etcd. All arguments may be nil. With prefill the cachers fill themselves at once, and not for their first
// reader.
//
//go:noinline
func StorageWithCacher(caches *cacher.Caches, prefill bool, control *trace.Control, log *slog.Logger) StorageDecorator {
	if caches == nil {
		caches = &cacher.Caches{}
	}
	fills := make(chan struct{}, parallelFills)
	return func(
		config *ConfigForResource,
		resourcePrefix string,
		newFunc func() runtime.Object,
		newListFunc func() runtime.Object,
		getAttrsFunc store.AttrFunc,
		trigger store.IndexerFuncs) (_ store.Interface, _ DestroyFunc, err error) {
		note := trace.Note(config.Notes, steps.StorageCacher, config.GroupResource.String())
		defer note.End(&err)
		if prefill {
			note.Why(fillsAtOnce)
		} else {
			note.Why(fillsWhenRead)
		}
		raw, destroyRaw, err := NewRawStorage(config, newFunc, newListFunc, resourcePrefix)
		if err != nil {
			return nil, nil, err
		}
		storage, ok := raw.(cacher.Storage)
		if !ok {
			destroyRaw()
			return nil, nil, fmt.Errorf("storage of %s: %T can't be cached", config.GroupResource, raw)
		}
		c, err := cacher.NewCacherFromConfig(cacher.Config{
			Storage:        storage,
			ResourcePrefix: resourcePrefix,
			GroupResource:  config.GroupResource,
			NewFunc:        newFunc,
			GetAttrsFunc:   getAttrsFunc,
			Trigger:        trigger,
			Prefill:        prefill,
			Fills:          fills,
			Control:        control,
			Log:            log,
			Metrics:        config.Shared.Caches,
		})
		if err != nil {
			destroyRaw()
			return nil, nil, err
		}
		remove := caches.Add(c)
		return c, func() {
			remove()
			c.Stop()
			destroyRaw()
		}, nil
	}
}
