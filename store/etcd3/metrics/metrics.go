package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store"
)

// latencyBuckets are in seconds.
var latencyBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}

// Metrics are the metrics of one server's storages.
type Metrics struct {
	requestDuration, listDuration, leaseObjects     *prometheus.HistogramVec
	requests, requestErrors                         *prometheus.CounterVec
	eventsReceived, bookmarks, decodeErrors         *prometheus.CounterVec
	lists, listFetched, listEvaluated, listReturned *prometheus.CounterVec
	bookmarkGauge, storageObjects, resourceObjects  *prometheus.GaugeVec
	resourceSize, storageSize                       *prometheus.GaugeVec
}

// New registers the metrics with reg. With a nil registry they count unregistered.
func New(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return f.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	return &Metrics{
		requestDuration: histogram("etcd_request_duration_seconds",
			"How long etcd took to answer.", latencyBuckets, "operation", "group", "resource"),
		requests: counter("etcd_requests_total",
			"Requests sent to etcd.", "operation", "group", "resource"),
		requestErrors: counter("etcd_request_errors_total",
			"Requests to etcd that failed.", "operation", "group", "resource"),

		eventsReceived: counter("apiserver_storage_events_received_total",
			"Watch events received from etcd.", "group", "resource"),
		bookmarkGauge: gauge("etcd_bookmark_counts",
			"Progress notifications received from etcd. Deprecated: use etcd_bookmark_total.", "group", "resource"),
		bookmarks: counter("etcd_bookmark_total",
			"Progress notifications received from etcd.", "group", "resource"),
		decodeErrors: counter("apiserver_storage_decode_errors_total",
			"Stored objects that could not be decoded.", "group", "resource"),
		leaseObjects: histogram("etcd_lease_object_counts",
			"How many objects shared a lease.", []float64{10, 50, 100, 500, 1000, 2500, 5000}),

		listDuration: histogram("apiserver_storage_list_duration_seconds",
			"How long a list took, with the decoding of its objects.", latencyBuckets, "streamed", "group", "resource"),
		lists: counter("apiserver_storage_list_total",
			"Lists answered by the storage.", "group", "resource", "storage", "index"),
		listFetched: counter("apiserver_storage_list_fetched_objects_total",
			"Objects read to answer lists.", "group", "resource", "storage", "index"),
		listEvaluated: counter("apiserver_storage_list_evaluated_objects_total",
			"Objects held against the selectors of lists.", "group", "resource", "storage"),
		listReturned: counter("apiserver_storage_list_returned_objects_total",
			"Objects returned by lists.", "group", "resource", "storage"),

		storageObjects: gauge("apiserver_storage_objects",
			"Stored objects when they were last counted, -1 if that failed. Deprecated: use apiserver_resource_objects.", "resource"),
		resourceObjects: gauge("apiserver_resource_objects",
			"Stored objects when they were last counted, -1 if that failed.", "group", "resource"),
		resourceSize: gauge("apiserver_resource_size_estimate_bytes",
			"Estimated size of the stored objects, -1 if it is unknown.", "group", "resource"),
		storageSize: gauge("apiserver_storage_size_bytes",
			"Size of the storage's database file.", "storage_cluster_id"),
	}
}

// StoreStats records the result of counting a resource's objects, or the failure.
func (m *Metrics) StoreStats(resource schema.GroupResource, stats store.Stats, err error) {
	count, size := float64(stats.ObjectCount), float64(stats.ObjectCount*stats.EstimatedAverageObjectSizeBytes)
	if err != nil {
		count = -1
	}
	// Objects without an estimated size are not empty: the storage does not estimate.
	if err != nil || (stats.ObjectCount > 0 && stats.EstimatedAverageObjectSizeBytes == 0) {
		size = -1
	}
	m.storageObjects.WithLabelValues(resource.String()).Set(count)
	m.resourceObjects.WithLabelValues(resource.Group, resource.Resource).Set(count)
	m.resourceSize.WithLabelValues(resource.Group, resource.Resource).Set(size)
}

// DeleteStoreStats forgets the counts of a resource that is no longer served.
func (m *Metrics) DeleteStoreStats(resource schema.GroupResource) {
	m.storageObjects.DeleteLabelValues(resource.String())
	m.resourceObjects.DeleteLabelValues(resource.Group, resource.Resource)
	m.resourceSize.DeleteLabelValues(resource.Group, resource.Resource)
}

// StorageSize records the size of an etcd's database. cluster tells the etcds of one server apart: "etcd-0".
func (m *Metrics) StorageSize(cluster string, sizeBytes int64) {
	m.storageSize.WithLabelValues(cluster).Set(float64(sizeBytes))
}
