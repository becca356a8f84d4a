package cacher

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
)

// Get decodes the result of GetEncoded. If that fails, the storage answers, with an error that says why.
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

// GetList decodes the result of ListEncoded. If that fails, the storage answers, with an error that says why.
func (c *Cacher) GetList(ctx context.Context, key string, opts store.ListOptions, listObj runtime.Object) error {
	list, err := c.ListEncoded(ctx, key, opts)
	if err != nil {
		return err
	}
	if list.Into(ctx, c.Versioner(), listObj) != nil {
		return c.Storage.GetList(ctx, key, opts, listObj)
	}
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

// decodingWatch decodes the objects of another watch's events. Each object is its reader's own. One goroutine takes
// events, decodes them and hands them on, until the inner watch ends, this one is stopped or ctx ends.
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
