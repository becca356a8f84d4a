package etcd3_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/store"
)

var everything = store.ListOptions{Predicate: store.Everything, Recursive: true}

// next is the next event of a watch, or a failure.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch ended")
		}
		return e
	case <-time.After(3 * time.Minute):
		t.Fatal("no event came in three minutes")
	}
	return watch.Event{}
}

func TestWatchLeavesNoGoroutine(t *testing.T) {
	s, _, _ := shared(t, nil)
	// The client's stream, which a first watch opens, lives as long as the client.
	w, err := s.Watch(t.Context(), "/configmaps/", everything)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		create(t, s, string(rune('a'+i)), "x")
		next(t, w)
	}
	before := goleak.IgnoreCurrent()
	for _, end := range []func(watch.Interface, context.CancelFunc){
		func(w watch.Interface, _ context.CancelFunc) { w.Stop() },
		func(_ watch.Interface, cancel context.CancelFunc) { cancel() },
		func(w watch.Interface, _ context.CancelFunc) { w.Stop(); w.Stop() },
	} {
		for _, read := range []int{0, 2, 3} {
			ctx, cancel := context.WithCancel(t.Context())
			other, err := s.Watch(ctx, "/configmaps/", everything)
			if err != nil {
				t.Fatal(err)
			}
			for range read {
				next(t, other)
			}
			end(other, cancel)
			for range other.ResultChan() {
			}
			cancel()
		}
	}
	goleak.VerifyNone(t, before)
	w.Stop()
	for range w.ResultChan() {
	}
}

// TestWatchWaitsForItsWatcher writes more than any buffer holds before anybody reads.
func TestWatchWaitsForItsWatcher(t *testing.T) {
	s, _, _ := shared(t, nil)
	first := create(t, s, "a", "x")
	w, err := s.Watch(t.Context(), "/configmaps/", store.ListOptions{
		ResourceVersion: first.ResourceVersion, Predicate: store.Everything, Recursive: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	const writes = 350
	var last string
	for i := range writes {
		out := &corev1.ConfigMap{}
		if err := s.GuaranteedUpdate(t.Context(), key("a"), out, setData(string(rune(i+1000))), store.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		last = out.ResourceVersion
	}
	var e watch.Event
	for range writes {
		if e = next(t, w); e.Type != watch.Modified {
			t.Fatalf("an event %s came", e.Type)
		}
	}
	if rv := e.Object.(*corev1.ConfigMap).ResourceVersion; rv != last {
		t.Errorf("the last event is at %s, want %s", rv, last)
	}
}

// TestWatchersShareNoObject changes what one watcher got.
func TestWatchersShareNoObject(t *testing.T) {
	s, _, _ := shared(t, nil)
	var watches []watch.Interface
	for range 2 {
		w, err := s.Watch(t.Context(), "/configmaps/", everything)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		watches = append(watches, w)
	}
	create(t, s, "a", "x")
	next(t, watches[0]).Object.(*corev1.ConfigMap).Data["data"] = "changed"
	if data := next(t, watches[1]).Object.(*corev1.ConfigMap).Data["data"]; data != "x" {
		t.Errorf("the other watcher got %q", data)
	}
}

func TestWatchProgress(t *testing.T) {
	s, client, _ := shared(t, nil)
	create(t, s, "a", "x")
	opts := everything
	opts.ProgressNotify = true
	w, err := s.Watch(t.Context(), "/configmaps/", opts)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	next(t, w)
	put, err := client.Put(t.Context(), "elsewhere", "x")
	if err != nil {
		t.Fatal(err)
	}
	current, err := s.GetCurrentResourceVersion(t.Context())
	if err != nil || current < uint64(put.Header.Revision) {
		t.Fatalf("revision %d, %v; etcd was at %d before", current, err, put.Header.Revision)
	}
	// A request that comes while the watch is opened is lost, so it is repeated.
	for deadline := time.Now().Add(3 * time.Minute); ; {
		if err := s.RequestWatchProgress(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-w.ResultChan():
			m, err := meta.Accessor(e.Object)
			if err != nil || e.Type != watch.Bookmark || len(m.GetAnnotations()) > 0 {
				t.Fatalf("event %v, %v", e, err)
			}
			if rv, err := s.Versioner().ObjectResourceVersion(e.Object); err == nil && rv >= current {
				return
			}
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("no bookmark reached the revision")
		}
	}
}
