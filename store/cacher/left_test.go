package cacher_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kx-apiserver/kx/store"
)

// leaving is a selector that selects nothing, and whose client leaves when the first object is looked at.
type leaving struct {
	labels.Selector
	looks atomic.Int32
	leave func()
}

func (l *leaving) Empty() bool { return false }

func (l *leaving) Matches(labels.Labels) bool {
	l.looks.Add(1)
	l.leave()
	return false
}

// TestClientLeavesWhileFiltering has the clients of a list, and of a watch that begins with the state, leave while objects are looked at.
func TestClientLeavesWhileFiltering(t *testing.T) {
	const objects, most = 600, 300
	r := shared(t, nil)
	for i := range objects {
		r.create(t, "ns", fmt.Sprintf("p%03d", i), "red")
	}
	ctx, leave := context.WithCancel(t.Context())
	selector := &leaving{Selector: labels.Everything(), leave: leave}
	opts := everything
	opts.Predicate.Label = selector
	_, err := r.cached.ListEncoded(ctx, "/pandas/", opts)
	if looks := selector.looks.Load(); !errors.Is(err, context.Canceled) || looks > most {
		t.Errorf("the list went on for %d of %d objects: %v", looks, objects, err)
	}

	selector = &leaving{Selector: labels.Everything(), leave: func() {}}
	opts = store.ListOptions{Recursive: true, SendInitialEvents: new(true), ResourceVersion: "0", Predicate: everything.Predicate}
	opts.Predicate.Label, opts.Predicate.AllowWatchBookmarks = selector, true
	started, stopped := make(chan struct{}), make(chan struct{})
	selector.leave = func() {
		if selector.looks.Load() == 1 {
			close(started)
			<-stopped
		}
	}
	w, err := r.cached.Watch(t.Context(), "/pandas/", opts)
	if err != nil {
		t.Fatal(err)
	}
	<-started
	w.Stop()
	close(stopped)
	for range w.ResultChan() {
		t.Error("an event came")
	}
	if looks := selector.looks.Load(); looks > most {
		t.Errorf("the watch went on for %d of %d objects", looks, objects)
	}
}
