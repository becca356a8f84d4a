package cacher_test

import (
	"fmt"
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

// TestListBesideNeighbours lists namespaces whose keys are next to each other, whole and page by page, with what remains of each.
func TestListBesideNeighbours(t *testing.T) {
	r := shared(t, nil)
	namespaces := []string{"n", "n-a", "n.a", "n0", "na", "o"}
	for _, ns := range namespaces {
		for _, name := range []string{"a", "b", "c"} {
			r.create(t, ns, name, "red")
		}
	}
	for _, ns := range namespaces {
		opts := everything
		var names, left []string
		for {
			out := &unstructured.UnstructuredList{}
			if err := r.cached.GetList(t.Context(), "/pandas/"+ns+"/", opts, out); err != nil {
				t.Fatal(err)
			}
			for _, obj := range out.Items {
				names = append(names, obj.GetNamespace()+"/"+obj.GetName())
			}
			if n := out.GetRemainingItemCount(); n != nil {
				left = append(left, fmt.Sprint(*n))
			}
			if len(out.Items) == 3 { // the whole list: now page by page
				opts.Predicate.Limit = 1
				continue
			}
			if opts.Predicate.Continue = out.GetContinue(); opts.Predicate.Continue == "" {
				break
			}
		}
		want := fmt.Sprintf("[%[1]s/a %[1]s/b %[1]s/c %[1]s/a %[1]s/b %[1]s/c]", ns)
		if got := fmt.Sprint(names); got != want || fmt.Sprint(left) != "[2 1]" {
			t.Errorf("namespace %s: %s, want %s; left %v, want [2 1]", ns, got, want, left)
		}
	}
}
