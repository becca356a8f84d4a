package cacher

import (
	"testing"
	"time"

	"github.com/google/btree"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher/metrics"
)

// TestReplacedWhileAnOldStateIsMade: a state of the history before a refill is not found after it, though it was made meanwhile.
func TestReplacedWhileAnOldStateIsMade(t *testing.T) {
	w := &watchCache{
		metrics: metrics.New(nil, nil).For(schema.GroupResource{Resource: "pandas"}),
		history: history{limits: historyLimits{window: time.Hour, min: 10, max: 100, maxBytes: 1 << 20}},
	}
	of := func(key string, revision int64) *object.Encoded {
		return object.NewEncoded(&object.Format{}, key, []byte("x"), revision, false)
	}
	create := func(key string, revision int64) {
		w.processEvent(store.Changes{Revision: revision, Changes: []store.Change{{Key: key, Revision: revision, Object: of(key, revision)}}}, time.Now())
	}
	// The tree compares keys while events are undone: that is when etcd is another one.
	meanwhile := func() {}
	w.tree = btree.NewG(degree, func(a, b item) bool {
		meanwhile()
		return a.key < b.key
	})
	for i, key := range []string{"/a", "/b", "/c"} {
		create(key, int64(i+1))
	}
	meanwhile = func() {
		meanwhile = func() {}
		w.replace([]*object.Encoded{of("/other", 1)}, 1)
	}
	if got := w.getExact(2); got == nil || got.Len() != 2 {
		t.Fatalf("the state at 2 is %v", got)
	}
	create("/another", 2)
	create("/third", 3)
	got := w.getExact(2)
	if got == nil {
		t.Fatal("the new history does not reach to 2")
	}
	for _, key := range []string{"/other", "/another"} {
		if !got.Has(item{key: key}) {
			t.Errorf("%s is not in the state at 2 of the new history", key)
		}
	}
	if got.Len() != 2 {
		t.Errorf("the state at 2 of the new history has %d objects", got.Len())
	}
	if again := w.getExact(2); again != got {
		t.Error("the state of the new history is not kept")
	}
}
