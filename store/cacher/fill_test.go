package cacher_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher"
)

// TestFilledWhileOthersWrite has others write between the moments in which a cache is filled: after its watch has begun,
// between two pages and before it looks at what the watch brought. It has each change once, and compares nothing with etcd,
// for its watch has not been lost. When that is lost the cache does compare, once, and goes on.
func TestFilledWhileOthersWrite(t *testing.T) {
	var beside *busy
	r := shared(t, func(c *cacher.Config) {
		beside = &busy{t: t, heldStorage: heldStorage{Storage: c.Storage, hold: make(chan struct{}), fail: make(chan error)}}
		close(beside.hold)
		c.Storage = beside
		c.Limits.PageSize = 1
	})
	if got, want := names(list(t, r.cached, everything)), []string{"ns/after", "ns/before", "ns/between"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// What was in the state is not in the history as well.
	if n := r.cacher.Inspect().History.Events; n != 2 {
		t.Errorf("%d events in the history", n)
	}
	consistent(t, r)
	if n := beside.compared.Load(); n != 0 {
		t.Errorf("compared %d times", n)
	}
	w := watchFrom(t, r.cached, "", nil)
	for range 3 {
		next(t, w)
	}
	beside.fail <- errors.New("lost")
	r.create(t, "ns", "later", "red")
	if got := describe(next(t, w)); got != "ADDED ns/later" {
		t.Error(got)
	}
	if n := beside.compared.Load(); n != 1 {
		t.Errorf("compared %d times", n)
	}
}

// busy is a storage in which others write while it is read.
type busy struct {
	heldStorage
	t        *testing.T
	filled   atomic.Bool
	compared atomic.Int64
}

func (b *busy) create(name string) {
	if err := b.Create(b.t.Context(), key("ns", name), panda("ns", name, "red"), nil, 0); err != nil {
		b.t.Error(err)
	}
}

func (b *busy) ReadAll(ctx context.Context, key string, pageSize int64, each func(*object.Encoded)) (int64, error) {
	if b.filled.Swap(true) {
		return b.Storage.ReadAll(ctx, key, pageSize, each)
	}
	b.create("before")
	between := sync.OnceFunc(func() { b.create("between") })
	revision, err := b.Storage.ReadAll(ctx, key, pageSize, func(obj *object.Encoded) {
		between()
		each(obj)
	})
	b.create("after")
	return revision, err
}

func (b *busy) Holds(ctx context.Context, key string, revision int64, objects iter.Seq[*object.Encoded]) (bool, error) {
	b.compared.Add(1)
	return b.Storage.Holds(ctx, key, revision, objects)
}

var _ store.EncodedSource = &busy{}
