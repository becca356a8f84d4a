package cacher

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher/metrics"
)

// TestSizes: a cache knows how many objects it has and how many bytes they are stored in, whatever happens to them.
func TestSizes(t *testing.T) {
	resource := schema.GroupResource{Resource: "pandas"}
	w := &watchCache{metrics: metrics.New(nil, nil).For(resource), tree: newTree(), history: history{limits: historyLimits{window: time.Hour, min: 10, max: 100, maxBytes: 1 << 20}}}
	format := &object.Format{}
	of := func(name string, bytes int, revision int64) *object.Encoded {
		return object.NewEncoded(format, name, []byte(strings.Repeat("x", bytes)), revision, false)
	}
	check := func(what string, items int, bytes int64) {
		t.Helper()
		if gotItems, gotBytes := w.sizes(); gotItems != items || gotBytes != bytes {
			t.Errorf("%s: %d objects of %d bytes, want %d of %d", what, gotItems, gotBytes, items, bytes)
		}
	}
	revision := int64(1)
	change := func(key string, obj *object.Encoded) {
		w.processEvent(store.Changes{Revision: revision, Changes: []store.Change{{Key: key, Revision: revision, Object: obj}}}, time.Now())
	}
	check("nothing", 0, 0)
	w.replace([]*object.Encoded{of("/a", 10, 1), of("/b", 20, 1)}, 1)
	check("filled", 2, 30)
	revision++
	change("/c", of("/c", 30, 2))
	check("created", 3, 60)
	revision++
	change("/a", of("/a", 100, 3))
	check("grown", 3, 150)
	change("/a", of("/a", 100, 3))
	check("seen before", 3, 150)
	revision++
	change("/b", nil)
	check("deleted", 2, 130)
	revision++
	change("/b", nil)
	check("deleted twice", 2, 130)
	w.replace([]*object.Encoded{of("/d", 7, 9)}, 9)
	check("filled anew", 1, 7)
	var all []*object.Encoded
	for i := range 100 {
		all = append(all, of(fmt.Sprintf("/%03d", i), i, 10))
	}
	w.replace(all, 10)
	check("many", 100, 4950)
}
