package registry

import (
	"context"
	"sync"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// Watch returns a watch, of objects that are decoded for the caller alone.
func (e *Store) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	return e.WatchPredicate(ctx, e.predicate(options), options, false)
}

// WatchEncoded returns a watch: of encoded objects, unless the Store has to look into them.
func (e *Store) WatchEncoded(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	return e.WatchPredicate(ctx, e.predicate(options), options, e.keepsEncoded())
}

// WatchPredicate watches what p selects. options may be nil; their selectors are not looked at.
func (e *Store) WatchPredicate(ctx context.Context, p store.SelectionPredicate, options *metainternalversion.ListOptions,
	encoded bool) (w watch.Interface, err error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	p.AllowWatchBookmarks = options.AllowWatchBookmarks
	opts := store.ListOptions{
		ResourceVersion: options.ResourceVersion,
		Predicate:       p,
		// A request that allows bookmarks gets them. A cacher sends them at its own pace and ignores this.
		ProgressNotify:    p.AllowWatchBookmarks,
		SendInitialEvents: options.SendInitialEvents,
	}
	key, recursive, why := e.scope(ctx, &p)
	opts.Recursive = recursive

	ctx, step := trace.Start(ctx, steps.StoreWatch, key)
	defer step.End(&err)
	step.Why(why)
	if step.Recording() {
		noteSelection(step, &opts)
	}

	w, err = e.Storage.Watch(ctx, key, opts, encoded)
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
// closed, Stop is called or the request ends. It never leaves the inner watch running: stopping this watch stops
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
