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
	"github.com/kx-apiserver/kx/store"
)

// Get is GetEncoded and a decoding. If that fails, the storage is asked, whose error says why.
func (c *Cacher) Get(ctx context.Context, key string, opts store.GetOptions, out runtime.Object) error {
	obj, err := c.GetEncoded(ctx, key, opts)
	switch {
	case err != nil:
		return err
	case obj == nil:
		return runtime.SetZeroValue(out)
	case obj.Into(out) != nil:
		return c.Storage.Get(ctx, key, opts, out)
	}
	return nil
}

// GetList is ListEncoded and a decoding. If that fails, the storage is asked, whose error says why.
func (c *Cacher) GetList(ctx context.Context, key string, opts store.ListOptions, listObj runtime.Object) error {
	list, err := c.ListEncoded(ctx, key, opts)
	if err != nil {
		return err
	}
	if decodeInto(ctx, list, listObj) != nil {
		return c.Storage.GetList(ctx, key, opts, listObj)
	}
	return c.Versioner().UpdateList(listObj, uint64(list.Revision), list.Continue, list.Remaining)
}

// decodeInto decodes the items of list into listObj, a pointer to a list.
func decodeInto(ctx context.Context, list *store.EncodedList, listObj runtime.Object) error {
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

// Watch is WatchEncoded and a decoding.
func (c *Cacher) Watch(ctx context.Context, key string, opts store.ListOptions) (watch.Interface, error) {
	w, err := c.WatchEncoded(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return newDecodingWatch(ctx, w), nil
}

// decodingWatch decodes the objects of another watch's events. Each object is its reader's own. One goroutine takes events,
// decodes them and hands them on, until the inner watch ends, this one is stopped or ctx ends.
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
