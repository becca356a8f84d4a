package cacher_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/store"
)

func TestReadYourWrites(t *testing.T) {
	r := shared(t, nil)
	for i := range 50 {
		name := string(rune('a' + i%26))
		if i < 26 {
			r.create(t, "ns", name, "red")
		} else {
			r.update(t, "ns", name, "blue")
		}
		var got unstructured.Unstructured
		if err := r.cached.Get(t.Context(), key("ns", name), store.GetOptions{}, &got); err != nil {
			t.Fatal(err)
		}
		var want unstructured.Unstructured
		if err := r.raw.Get(t.Context(), key("ns", name), store.GetOptions{}, &want); err != nil {
			t.Fatal(err)
		}
		if got.GetResourceVersion() != want.GetResourceVersion() {
			t.Fatalf("cached %s, etcd %s", got.GetResourceVersion(), want.GetResourceVersion())
		}
		cached, raw := list(t, r.cached, everything), list(t, r.raw, everything)
		if !slices.Equal(names(cached), names(raw)) {
			t.Fatalf("cached %v, etcd %v", names(cached), names(raw))
		}
	}
}

func TestWatchGetsEvents(t *testing.T) {
	r := shared(t, nil)
	r.create(t, "ns", "a", "red")
	w, err := r.cached.Watch(t.Context(), "/pandas/", everything)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	r.create(t, "ns", "b", "red")
	r.update(t, "ns", "b", "blue")
	deleted := r.delete(t, "ns", "a")
	for _, want := range []string{"ADDED ns/a", "ADDED ns/b", "MODIFIED ns/b", "DELETED ns/a"} {
		e := next(t, w)
		if got := describe(e); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if e.Type == watch.Deleted && e.Object.(*unstructured.Unstructured).GetResourceVersion() != deleted.GetResourceVersion() {
			t.Errorf("deleted at %s, want %s", e.Object.(*unstructured.Unstructured).GetResourceVersion(), deleted.GetResourceVersion())
		}
	}
}
