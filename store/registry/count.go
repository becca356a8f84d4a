package registry

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// countJitter spreads the counts of many resources, which all start at once.
const countJitter = 1.2

// countObjects counts the objects of a resource periodically until the caller calls the returned stop function. After
// the last count that function calls destroy, when the storage is no longer in use.
func countObjects(resource schema.GroupResource, storage store.Interface, metrics *metrics.Metrics, period time.Duration,
	destroy func()) func() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
			stats, err := storage.Stats(ctx)
			if ctx.Err() == nil {
				metrics.StoreStats(resource, stats, err)
			}
		}, period, countJitter, true)
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-done
		metrics.DeleteStoreStats(resource)
		destroy()
	})
}
