package metrics

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// WatchListed counts a watch whose client has got the existing objects, and the time that this took.
func (m *Metrics) WatchListed(info *request.RequestInfo, took time.Duration) {
	if m != nil {
		scope := Request{Info: info}.scope()
		m.watchList.WithLabelValues(info.APIGroup, info.APIVersion, info.Resource, scope).Observe(took.Seconds())
	}
}

// WatchEvents returns the function that counts the events of one watch, by their size.
func (m *Metrics) WatchEvents(resource schema.GroupVersionResource) func(sizeBytes int) {
	if m == nil {
		return func(int) {}
	}
	count := m.watchEvents.WithLabelValues(resource.Group, resource.Version, resource.Resource)
	sizes := m.watchEventsSizes.WithLabelValues(resource.Group, resource.Version, resource.Resource)
	return func(sizeBytes int) {
		count.Inc()
		sizes.Observe(float64(sizeBytes))
	}
}
