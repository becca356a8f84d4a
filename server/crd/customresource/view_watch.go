package customresource

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// maxBatch limits the events that are converted at once; batchBytes limits their size.
const maxBatch = 100

// Watch implements store.Interface. A conversion that fails ends the watch with an ERROR event.
func (v *view) Watch(ctx context.Context, key string, opts store.ListOptions) (watch.Interface, error) {
	w := &viewWatch{view: v, results: make(chan watch.Event)}
	if v.selectsAbove(&opts.Predicate) {
		selects := opts.Predicate
		w.selected = &selection{view: v, predicate: selects, key: key, recursive: opts.Recursive, known: map[string]bool{}}
		opts.Predicate = withoutSelectors(selects)
	}
	w.ctx, w.cancel = context.WithCancel(trace.Fork(ctx))
	inner, err := v.below.WatchEncoded(w.ctx, key, opts) // nothing is decoded before its turn
	if err != nil {
		w.cancel()
		return nil, err
	}
	w.inner = inner
	go w.run()
	return w, nil
}

// viewWatch converts the events of the storage's watch.
//
// One goroutine takes the pending events, converts their objects in one call, and forwards them in order. It
// ends when the inner watch ends, when Stop is called, when the context ends, and after a failure; then it ends
// the inner watch, too.
type viewWatch struct {
	view  *view
	inner watch.Interface
	// selected is nil if the watcher gets all events.
	selected *selection
	ctx      context.Context
	cancel   context.CancelFunc
	results  chan watch.Event
}

func (w *viewWatch) Stop() { w.cancel() }

func (w *viewWatch) ResultChan() <-chan watch.Event { return w.results }

func (w *viewWatch) run() {
	defer close(w.results)
	defer w.inner.Stop()
	defer w.cancel()
	for {
		events := w.next()
		if len(events) == 0 {
			return
		}
		if err := w.forward(events); err != nil {
			w.fail(err)
			return
		}
	}
}

// next waits for an event, and takes all that are pending. None means the end.
func (w *viewWatch) next() []watch.Event {
	var events []watch.Event
	select {
	case event, ok := <-w.inner.ResultChan():
		if !ok {
			return nil
		}
		events = append(events, event)
	case <-w.ctx.Done():
		return nil
	}
	for bytes := object.SizeOf(events[0].Object); len(events) < maxBatch && bytes < batchBytes; {
		select {
		case event, ok := <-w.inner.ResultChan():
			if !ok {
				return events // the next call finds the end again
			}
			events = append(events, event)
			bytes += object.SizeOf(event.Object)
		default:
			return events
		}
	}
	return events
}

// forward converts events and sends them to the watcher.
func (w *viewWatch) forward(events []watch.Event) error {
	if err := w.convert(events); err != nil {
		return err
	}
	for _, event := range events {
		if w.selected != nil {
			var err error
			if event, err = w.selected.apply(w.ctx, event); err != nil {
				return err
			}
			if event.Type == "" {
				continue
			}
		}
		select {
		case w.results <- event:
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
	return nil
}

// convert replaces the objects of events.
func (w *viewWatch) convert(events []watch.Event) error {
	v := w.view
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v.listKind)
	var at []int
	for i := range events {
		u, err := eventObject(events[i].Object)
		switch {
		case err != nil:
			return err
		case u == nil:
		case u.GetAPIVersion() == v.up.String():
			events[i].Object = u
		case events[i].Type == watch.Bookmark:
			// A bookmark is no object, so a webhook could not convert it.
			bookmark := u.DeepCopy()
			bookmark.SetAPIVersion(v.up.String())
			events[i].Object = bookmark
		default:
			list.Items, at = append(list.Items, *u), append(at, i)
		}
	}
	if len(at) == 1 {
		converted, err := v.convert(w.ctx, &list.Items[0], v.up)
		if err != nil {
			return err
		}
		events[at[0]].Object = converted
		return nil
	}
	if len(at) == 0 {
		return nil
	}
	if err := v.convertList(w.ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		events[at[i]].Object = &list.Items[i]
	}
	return nil
}

// eventObject returns the object of an event, which belongs to the watcher. It is nil for a Status.
func eventObject(obj runtime.Object) (*unstructured.Unstructured, error) {
	if _, ok := obj.(*metav1.Status); ok {
		return nil, nil
	}
	obj, err := object.Decode(obj)
	if err != nil {
		return nil, err
	}
	return asUnstructured(obj)
}

// fail sends the final error to the watcher, unless the watcher has left.
func (w *viewWatch) fail(err error) {
	if w.ctx.Err() != nil {
		return
	}
	var carrier apierrors.APIStatus
	if !errors.As(err, &carrier) {
		carrier = apierrors.NewInternalError(err)
	}
	status := carrier.Status()
	select {
	case w.results <- watch.Event{Type: watch.Error, Object: &status}:
	case <-w.ctx.Done():
	}
}

// selection turns changes of all objects into changes of the selected ones. An object that becomes selected is
// ADDED; one that is no longer selected is DELETED, in its state before.
type selection struct {
	view      *view
	predicate store.SelectionPredicate
	key       string
	recursive bool
	// known maps each key so far to whether its object is selected.
	known map[string]bool
}

// apply returns the watcher's event. An event without a type means none.
func (s *selection) apply(ctx context.Context, event watch.Event) (watch.Event, error) {
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok || event.Type == watch.Bookmark || event.Type == watch.Error {
		return event, nil
	}
	key := s.key
	if s.recursive {
		key = s.view.keyOf(u, s.key)
	}
	matches := s.matches(u)
	matched, old, err := s.before(ctx, key, event.Type, u, matches)
	if err != nil {
		return watch.Event{}, err
	}
	if s.known[key] = matches; event.Type == watch.Deleted {
		delete(s.known, key)
	}
	switch {
	case matches && !matched:
		return watch.Event{Type: watch.Added, Object: u}, nil
	case matches:
		return event, nil
	case matched:
		gone := old.DeepCopy()
		gone.SetResourceVersion(u.GetResourceVersion())
		return watch.Event{Type: watch.Deleted, Object: gone}, nil
	}
	return watch.Event{}, nil
}

func (s *selection) matches(u *unstructured.Unstructured) bool {
	matches, err := s.predicate.Matches(u)
	return err == nil && matches // an object that the selector can't evaluate is not selected
}

// before reports whether an object was selected before a change. It reads the old object if the watch has not
// seen the object yet, or if the object is no longer selected; otherwise old is nil.
func (s *selection) before(ctx context.Context, key string, change watch.EventType, u *unstructured.Unstructured,
	matches bool) (bool, *unstructured.Unstructured, error) {
	switch change {
	case watch.Added:
		return false, nil, nil
	case watch.Deleted:
		return matches, nil, nil // the event has the object as it was
	}
	matched, known := s.known[key]
	if known && (matches || !matched) {
		return matched, nil, nil
	}
	revision, err := strconv.ParseUint(u.GetResourceVersion(), 10, 64)
	if err != nil {
		return false, nil, fmt.Errorf("find %s as it was before: %w", key, err)
	}
	old, err := s.view.previous(ctx, key, revision)
	if err != nil || old == nil {
		return false, nil, err
	}
	return s.matches(old), old, nil
}
