package registry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kx-apiserver/kx/store"
)

// The metrics carry upstream's names; the first is older and what dashboards know.
var (
	storageObjects = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Name: "apiserver_storage_objects",
		Help: "Number of stored objects at the last count, by resource; -1 if they could not be counted.",
	}, []string{"resource"})
	resourceObjects = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Name: "apiserver_resource_objects",
		Help: "Number of stored objects at the last count, by group and resource; -1 if they could not be counted.",
	}, []string{"group", "resource"})
)

// countJitter spreads the counts of many resources, which all start at once.
const countJitter = 1.2

// countObjects counts the objects of a resource from time to time, until the function that it returns is called. That
// also calls destroy, once the last count is over: nobody uses the storage then.
func countObjects(resource schema.GroupResource, storage store.Interface, period time.Duration, destroy func()) func() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
			stats, err := storage.Stats(ctx)
			if ctx.Err() == nil {
				setCount(resource, stats, err)
			}
		}, period, countJitter, true)
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-done
		storageObjects.DeleteLabelValues(resource.String())
		resourceObjects.DeleteLabelValues(resource.Group, resource.Resource)
		destroy()
	})
}

func setCount(resource schema.GroupResource, stats store.Stats, err error) {
	count := float64(stats.ObjectCount)
	if err != nil {
		count = -1
	}
	storageObjects.WithLabelValues(resource.String()).Set(count)
	resourceObjects.WithLabelValues(resource.Group, resource.Resource).Set(count)
}
