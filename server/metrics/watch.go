package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	watchLabels = []string{"group", "version", "resource"}

	watchEvents = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "apiserver_watch_events_total",
		Help: "Events sent to watching clients.",
	}, watchLabels)
	watchEventsSizes = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "apiserver_watch_events_sizes",
		Help:    "How many bytes the events sent to watching clients had.",
		Buckets: prometheus.ExponentialBuckets(1024, 2, 8),
	}, watchLabels)
)

func init() { prometheus.MustRegister(watchEvents, watchEventsSizes) }

// WatchEvents returns what counts the events of one watch, by their size.
func WatchEvents(resource schema.GroupVersionResource) func(sizeBytes int) {
	count := watchEvents.WithLabelValues(resource.Group, resource.Version, resource.Resource)
	sizes := watchEventsSizes.WithLabelValues(resource.Group, resource.Version, resource.Resource)
	return func(sizeBytes int) {
		count.Inc()
		sizes.Observe(float64(sizeBytes))
	}
}
