package cacher_test

import (
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// TestWritesAreMarked: the journey of a write is told what the cache did with its event, whichever of the two comes first:
// the event or the answer to the write.
func TestWritesAreMarked(t *testing.T) {
	r := shared(t, nil)
	recorder := trace.NewRecorder("p", trace.DefaultLimits)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			name := string(rune('a' + i))
			for range 20 {
				var revisions []int64
				ctx, j := recorder.Begin(t.Context(), trace.Request{})
				out := &unstructured.Unstructured{}
				note := func(err error) {
					if err != nil {
						t.Error(err)
					}
					revisions = append(revisions, revisionOf(out))
				}
				note(r.cached.Create(ctx, key("ns", name), panda("ns", name, "red"), out, 0))
				same := func(runtime.Object, store.ResponseMeta) (runtime.Object, *uint64, error) {
					return panda("ns", name, "blue"), nil, nil
				}
				note(r.cached.GuaranteedUpdate(ctx, key("ns", name), out, same, store.UpdateOptions{}))
				// What writes nothing makes no event.
				if err := r.cached.GuaranteedUpdate(ctx, key("ns", name), out, same, store.UpdateOptions{}); err != nil {
					t.Error(err)
				}
				note(r.cached.Delete(ctx, key("ns", name), out, store.ValidateAllObjectFunc, store.DeleteOptions{}))
				j.Finish(trace.Response{Code: 200})
				until(t, "all is marked", func() bool { return len(j.Record().Marks) >= 9 })
				marked(t, j.Record().Marks, revisions)
			}
		})
	}
	writers.Wait()
}

// marked checks that each revision has come, been processed and been dispatched, in this order.
func marked(t *testing.T, marks []trace.MarkRecord, revisions []int64) {
	t.Helper()
	order := []steps.ID{steps.CacherReflect, steps.CacherProcessEvent, steps.CacherDispatch}
	if len(marks) != len(order)*len(revisions) {
		t.Errorf("marks %v of revisions %v", marks, revisions)
		return
	}
	for _, revision := range revisions {
		n := 0
		last := trace.MarkRecord{}
		for _, m := range marks {
			if m.Revision != revision {
				continue
			}
			if n == len(order) || m.ID != order[n] || m.After < last.After {
				t.Errorf("%d is marked with %v after %v", revision, m, last)
				return
			}
			n, last = n+1, m
		}
		if n != len(order) {
			t.Errorf("%d has %d marks", revision, n)
		}
	}
}
