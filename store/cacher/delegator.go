package cacher

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// CacheDelegator is a storage with a Cacher in front of it: reads and watches are the Cacher's, writes the storage's, which
// is given what the Cacher has of the object as the first state to try.
type CacheDelegator struct {
	Storage
	cacher *Cacher
}

// NewCacheDelegator puts cacher in front of the storage that it caches.
func NewCacheDelegator(cacher *Cacher) *CacheDelegator {
	return &CacheDelegator{Storage: cacher.config.Storage, cacher: cacher}
}

var (
	_ store.Interface     = &CacheDelegator{}
	_ store.EncodedReader = &CacheDelegator{}
)

// Cacher is what stands in front.
func (d *CacheDelegator) Cacher() *Cacher { return d.cacher }

// ReadinessCheck implements store.Interface.
func (d *CacheDelegator) ReadinessCheck() error { return d.cacher.ReadinessCheck() }

// Get implements store.Interface.
func (d *CacheDelegator) Get(ctx context.Context, key string, opts store.GetOptions, out runtime.Object) error {
	return d.cacher.Get(ctx, key, opts, out)
}

// GetEncoded implements store.EncodedReader.
func (d *CacheDelegator) GetEncoded(ctx context.Context, key string, opts store.GetOptions) (*object.Encoded, error) {
	return d.cacher.GetEncoded(ctx, key, opts)
}

// GetList implements store.Interface.
func (d *CacheDelegator) GetList(ctx context.Context, key string, opts store.ListOptions, listObj runtime.Object) error {
	return d.cacher.GetList(ctx, key, opts, listObj)
}

// ListItems implements store.ItemReader.
func (d *CacheDelegator) ListItems(ctx context.Context, key string, opts store.ListOptions) (*store.ItemList, error) {
	return d.cacher.ListItems(ctx, key, opts)
}

// Watch implements store.Interface.
func (d *CacheDelegator) Watch(ctx context.Context, key string, opts store.ListOptions) (watch.Interface, error) {
	return d.cacher.Watch(ctx, key, opts)
}

// WatchEncoded implements store.EncodedReader.
func (d *CacheDelegator) WatchEncoded(ctx context.Context, key string, opts store.ListOptions) (watch.Interface, error) {
	return d.cacher.WatchEncoded(ctx, key, opts)
}

// GuaranteedUpdate implements store.Interface.
func (d *CacheDelegator) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *store.Preconditions, tryUpdate store.UpdateFunc, suggestion runtime.Object) (err error) {
	ctx, step := trace.Start(ctx, trace.CacherUpdate, key)
	defer step.End(&err)
	if cached := d.cacher.suggestion(step, key); cached != nil {
		suggestion = cached
	}
	return d.Storage.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, suggestion)
}

// Delete implements store.Interface.
func (d *CacheDelegator) Delete(ctx context.Context, key string, out runtime.Object, preconditions *store.Preconditions,
	validate store.ValidateObjectFunc, suggestion runtime.Object, opts store.DeleteOptions) (err error) {
	ctx, step := trace.Start(ctx, trace.CacherDelete, key)
	defer step.End(&err)
	if cached := d.cacher.suggestion(step, key); cached != nil {
		suggestion = cached
	}
	if err := d.Storage.Delete(ctx, key, out, preconditions, validate, suggestion, opts); err != nil {
		return err
	}
	if revision, err := d.Versioner().ObjectResourceVersion(out); err == nil && revision > 0 {
		d.cacher.await(ctx, int64(revision))
	}
	return nil
}

// suggestion is what the cache has of an object that is to be written, nil if it has none.
func (c *Cacher) suggestion(step *trace.Step, key string) *object.Encoded {
	c.sayLate(step)
	state := c.state.get().State
	if state == Uninitialized {
		step.Whyf("the cache is %s: the storage reads the object", state)
		return nil
	}
	obj := c.latest(key)
	if obj == nil {
		step.Why("the cache does not have the object: the storage reads it")
		return nil
	}
	step.Whyf("the cache has the object at %d: that is tried first, and spares a read", obj.Revision())
	return obj
}

// GetList lists what opts select, decoded unless listObj is a store.EncodedResult.
func (c *Cacher) GetList(ctx context.Context, key string, opts store.ListOptions, listObj runtime.Object) (err error) {
	ctx, step := trace.Start(ctx, trace.CacherList, key)
	defer step.End(&err)
	c.sayLate(step)
	list, err := c.list(ctx, step, key, opts)
	if err != nil {
		return err
	}
	if result, ok := listObj.(*store.EncodedResult); ok {
		result.List = list
		return nil
	}
	if decodeInto(ctx, list, listObj) != nil {
		step.Why("the cache can't read an object: went to etcd, which says why")
		return c.config.Storage.GetList(ctx, key, opts, listObj)
	}
	return c.config.Storage.Versioner().UpdateList(listObj, uint64(list.Revision), list.Continue, list.Remaining)
}

// decodeInto makes the items of listObj, a pointer to a list, of those of list.
func decodeInto(ctx context.Context, list *store.ItemList, listObj runtime.Object) error {
	ptr, err := meta.GetItemsPtr(listObj)
	if err != nil {
		return err
	}
	values, err := conversion.EnforcePtr(ptr)
	if err != nil || values.Kind() != reflect.Slice {
		return fmt.Errorf("need ptr to slice: the items of %T are %T", listObj, ptr)
	}
	apiVersion := ""
	if u, ok := listObj.(*unstructured.UnstructuredList); ok {
		apiVersion = u.GetAPIVersion()
	}
	var encoded []*object.Encoded
	for item, err := range list.Items(ctx) {
		if err != nil {
			return err
		}
		encoded = append(encoded, item.(*object.Encoded))
	}
	items := reflect.MakeSlice(values.Type(), len(encoded), len(encoded))
	for i, obj := range encoded {
		into, ok := items.Index(i).Addr().Interface().(runtime.Object)
		if !ok {
			return fmt.Errorf("the items of %T are no objects", listObj)
		}
		if u, ok := into.(*unstructured.Unstructured); ok && apiVersion != "" {
			u.Object = map[string]any{"apiVersion": apiVersion}
		}
		if err := obj.Into(into); err != nil {
			return err
		}
	}
	values.Set(items)
	return nil
}

// Watch watches what opts select, decoded.
func (c *Cacher) Watch(ctx context.Context, key string, opts store.ListOptions) (watch.Interface, error) {
	w, err := c.WatchEncoded(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return newDecodingWatch(ctx, w), nil
}

// decodingWatch gives its reader objects of its own, decoded. One goroutine takes events, decodes them and hands them on,
// until the inner watch ends, this one is stopped or ctx ends.
type decodingWatch struct {
	watch.Interface
	result  chan watch.Event
	stopped chan struct{}
	stop    func()
}

func newDecodingWatch(ctx context.Context, inner watch.Interface) watch.Interface {
	if _, failed := inner.(errWatcher); failed {
		return inner
	}
	w := &decodingWatch{Interface: inner, result: make(chan watch.Event, resultBuffer), stopped: make(chan struct{})}
	w.stop = sync.OnceFunc(func() {
		close(w.stopped)
		inner.Stop()
	})
	go w.run(ctx)
	return w
}

func (w *decodingWatch) Stop() { w.stop() }

func (w *decodingWatch) ResultChan() <-chan watch.Event { return w.result }

func (w *decodingWatch) run(ctx context.Context) {
	defer close(w.result)
	defer w.stop()
	for e := range w.Interface.ResultChan() {
		if obj, ok := e.Object.(*object.Encoded); ok {
			decoded, err := obj.Object()
			if err != nil {
				e = errorEvent(err)
			} else {
				e.Object = decoded.DeepCopyObject()
			}
		}
		select {
		case w.result <- e:
		case <-w.stopped:
			return
		case <-ctx.Done():
			return
		}
		if e.Type == watch.Error {
			return
		}
	}
}
