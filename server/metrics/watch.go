package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
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
	watchList = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "apiserver_watch_list_duration_seconds",
		Help:    "How long watches that begin with the present state took until all of it was sent.",
		Buckets: []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300},
	}, append(watchLabels[:len(watchLabels):len(watchLabels)], "scope"))
)

func init() { prometheus.MustRegister(watchEvents, watchEventsSizes, watchList) }

// WatchListed counts a watch whose client has been sent the present state, which took so long.
func WatchListed(info *request.RequestInfo, took time.Duration) {
	scope := Request{Info: info}.scope()
	watchList.WithLabelValues(info.APIGroup, info.APIVersion, info.Resource, scope).Observe(took.Seconds())
}

// WatchEvents returns what counts the events of one watch, by their size.
func WatchEvents(resource schema.GroupVersionResource) func(sizeBytes int) {
	count := watchEvents.WithLabelValues(resource.Group, resource.Version, resource.Resource)
	sizes := watchEventsSizes.WithLabelValues(resource.Group, resource.Version, resource.Resource)
	return func(sizeBytes int) {
		count.Inc()
		sizes.Observe(float64(sizeBytes))
	}
}
