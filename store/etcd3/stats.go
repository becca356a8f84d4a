package etcd3

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	storage "github.com/kx-apiserver/kx/store"
)

// sizeRefresh is the interval at which the estimator forgets deleted keys when no caller asks it.
const sizeRefresh = time.Minute

// resourceSizeEstimator knows the size of the values that lists and watches have seen, and so their average, without
// reading anything itself. It remembers revisions, since lists and watches see changes in different orders. A
// deletion that no watch saw leaves its key behind until keys are compared with those that exist. mu guards sizes and
// cleaned.
type resourceSizeEstimator struct {
	prefix string
	keys   storage.KeysFunc
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	sizes   map[string]sizeRevision
	cleaned time.Time
}

type sizeRevision struct {
	bytes, revision int64
}

// newResourceSizeEstimator returns an estimator of keys below prefix, which ends with a slash.
func newResourceSizeEstimator(prefix string, keys storage.KeysFunc) *resourceSizeEstimator {
	return &resourceSizeEstimator{prefix: prefix, keys: keys, sizes: map[string]sizeRevision{}}
}

// start makes the estimator forget by itself, until close.
func (r *resourceSizeEstimator) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, make(chan struct{})
	go func() {
		defer close(r.done)
		for {
			// Each resource has an estimator: they should not ask all at once.
			wait := sizeRefresh + rand.N(sizeRefresh/2)
			select {
			case <-time.After(wait):
				r.refresh(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (r *resourceSizeEstimator) close() {
	r.cancel()
	<-r.done
}

func (r *resourceSizeEstimator) refresh(ctx context.Context) {
	r.mu.Lock()
	recent := time.Since(r.cleaned) < sizeRefresh
	r.mu.Unlock()
	if recent {
		return
	}
	// A failure is tried again a minute later.
	_, _ = r.stats(ctx)
}

// stats asks for the keys and forgets all others.
func (r *resourceSizeEstimator) stats(ctx context.Context) (storage.Stats, error) {
	keys, err := r.keys(ctx)
	if err != nil {
		return storage.Stats{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(keys)
	stats := storage.Stats{ObjectCount: int64(len(keys))}
	if len(r.sizes) > 0 {
		var sum int64
		for _, s := range r.sizes {
			sum += s.bytes
		}
		stats.EstimatedAverageObjectSizeBytes = sum / int64(len(r.sizes))
	}
	return stats, nil
}

func (r *resourceSizeEstimator) keep(keys []string) {
	kept := make(map[string]sizeRevision, len(keys))
	for _, key := range keys {
		// A cache knows keys without the store's prefix.
		if !strings.HasPrefix(key, r.prefix) {
			key = r.prefix + strings.TrimPrefix(key, "/")
		}
		if size, ok := r.sizes[key]; ok {
			kept[key] = size
		}
	}
	r.sizes, r.cleaned = kept, time.Now()
}

// update notes the sizes of values that were read.
func (r *resourceSizeEstimator) update(kvs ...*mvccpb.KeyValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, kv := range kvs {
		if key := string(kv.Key); r.sizes[key].revision < kv.ModRevision {
			r.sizes[key] = sizeRevision{bytes: int64(len(kv.Value)), revision: kv.ModRevision}
		}
	}
}

// observe records the size from an event of a watch.
func (r *resourceSizeEstimator) observe(e *clientv3.Event) {
	if e.Type == clientv3.EventTypePut {
		r.update(e.Kv)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if key := string(e.Kv.Key); r.sizes[key].revision < e.Kv.ModRevision {
		delete(r.sizes, key)
	}
}
