package registry

import (
	"context"
	"sync"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// Watch returns a watch: of encoded objects if the reader takes that, and nothing here has to look into them.
func (e *Store) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	p := e.predicate(options)
	if options == nil {
		return e.WatchPredicate(ctx, p, "", nil)
	}
	p.AllowWatchBookmarks = options.AllowWatchBookmarks
	return e.WatchPredicate(ctx, p, options.ResourceVersion, options.SendInitialEvents)
}

// WatchPredicate watches what p selects.
func (e *Store) WatchPredicate(ctx context.Context, p store.SelectionPredicate, resourceVersion string, sendInitialEvents *bool) (w watch.Interface, err error) {
	opts := store.ListOptions{
		ResourceVersion: resourceVersion,
		Predicate:       p,
		// Whoever allows bookmarks gets them. A cacher sends them at its own pace and ignores this.
		ProgressNotify:    p.AllowWatchBookmarks,
		SendInitialEvents: sendInitialEvents,
	}
	key, recursive, why := e.scope(ctx, &p)
	opts.Recursive = recursive

	ctx, step := trace.Start(ctx, trace.StoreWatch, key)
	defer step.End(&err)
	step.Why(why)
	if step.Recording() {
		noteSelection(step, &opts)
	}

	w, err = e.Storage.Watch(ctx, key, opts, e.givesEncoded(ctx))
	if err != nil {
		return nil, err
	}
	if e.Decorator != nil {
		w = decorateWatch(ctx, w, e.Decorator)
	}
	return w, nil
}

// decoratedWatch changes the objects of another watch's events.
//
// One goroutine takes events from the inner channel, decorates them and hands them on, until the inner channel is
// closed, Stop is called or the request ends. It never leaves the inner watch running: whoever stops this one stops
// both.
type decoratedWatch struct {
	inner   watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
}

func decorateWatch(ctx context.Context, inner watch.Interface, decorator func(runtime.Object)) watch.Interface {
	d := &decoratedWatch{inner: inner, events: make(chan watch.Event), stopped: make(chan struct{})}
	d.stop = sync.OnceFunc(func() {
		close(d.stopped)
		inner.Stop()
	})
	go d.run(ctx, decorator)
	return d
}

func (d *decoratedWatch) run(ctx context.Context, decorator func(runtime.Object)) {
	defer close(d.events)
	defer d.stop()
	for event := range d.inner.ResultChan() {
		if event.Type != watch.Error {
			decorator(event.Object)
		}
		select {
		case d.events <- event:
		case <-d.stopped:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (d *decoratedWatch) Stop() { d.stop() }

func (d *decoratedWatch) ResultChan() <-chan watch.Event { return d.events }
