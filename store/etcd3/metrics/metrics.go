package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store"
)

// Operation is a kind of request to etcd.
type Operation uint8

// The operations on etcd.
const (
	OperationGet Operation = iota
	OperationList
	OperationCreate
	OperationUpdate
	OperationDelete
	OperationCount
	OperationGetRevision
	numOperations
)

// String is the operation as the label says it.
func (o Operation) String() string {
	return [numOperations]string{"get", "list", "create", "update", "delete", "listWithCount", "getCurrentResourceVersion"}[o]
}

// storageEtcd is this storage's value of the label that tells storages apart; a watch cache has another.
const storageEtcd = "etcd"

// latencyBuckets are in seconds.
var latencyBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}

var (
	requestDuration = histogram("etcd_request_duration_seconds",
		"How long etcd took to answer.", "operation", "group", "resource")
	requests = counter("etcd_requests_total",
		"Requests sent to etcd.", "operation", "group", "resource")
	requestErrors = counter("etcd_request_errors_total",
		"Requests to etcd that failed.", "operation", "group", "resource")

	eventsReceived = counter("apiserver_storage_events_received_total",
		"Watch events received from etcd.", "group", "resource")
	bookmarkGauge = gauge("etcd_bookmark_counts",
		"Progress notifications received from etcd. Deprecated: use etcd_bookmark_total.", "group", "resource")
	bookmarks = counter("etcd_bookmark_total",
		"Progress notifications received from etcd.", "group", "resource")
	decodeErrors = counter("apiserver_storage_decode_errors_total",
		"Stored objects that could not be decoded.", "group", "resource")
	leaseObjects = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "etcd_lease_object_counts", Help: "How many objects shared a lease.",
		Buckets: []float64{10, 50, 100, 500, 1000, 2500, 5000},
	}, nil)

	listDuration = histogram("apiserver_storage_list_duration_seconds",
		"How long a list took, with the decoding of its objects.", "streamed", "group", "resource")
	lists = counter("apiserver_storage_list_total",
		"Lists answered by the storage.", "group", "resource", "storage", "index")
	listFetched = counter("apiserver_storage_list_fetched_objects_total",
		"Objects read to answer lists.", "group", "resource", "storage", "index")
	listEvaluated = counter("apiserver_storage_list_evaluated_objects_total",
		"Objects held against the selectors of lists.", "group", "resource", "storage")
	listReturned = counter("apiserver_storage_list_returned_objects_total",
		"Objects returned by lists.", "group", "resource", "storage")

	storageObjects = gauge("apiserver_storage_objects",
		"Stored objects when they were last counted, -1 if that failed. Deprecated: use apiserver_resource_objects.", "resource")
	resourceObjects = gauge("apiserver_resource_objects",
		"Stored objects when they were last counted, -1 if that failed.", "group", "resource")
	resourceSize = gauge("apiserver_resource_size_estimate_bytes",
		"Estimated size of the stored objects, -1 if it is unknown.", "group", "resource")
	storageSize = gauge("apiserver_storage_size_bytes",
		"Size of the storage's database file.", "storage_cluster_id")
)

func init() {
	prometheus.MustRegister(requestDuration, requests, requestErrors,
		eventsReceived, bookmarkGauge, bookmarks, decodeErrors, leaseObjects,
		listDuration, lists, listFetched, listEvaluated, listReturned,
		storageObjects, resourceObjects, resourceSize, storageSize)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: latencyBuckets}, labels)
}

// EtcdRequests counts the requests to etcd for one resource. To find a metric by its labels costs several times what it
// costs to add to it, so each is found once, when its operation first happens: what never happens is not in the metrics.
type EtcdRequests struct {
	resource   schema.GroupResource
	operations [numOperations]struct {
		once     sync.Once
		duration prometheus.Observer
		total    prometheus.Counter
	}
}

// NewEtcdRequests counts for a resource.
func NewEtcdRequests(resource schema.GroupResource) *EtcdRequests {
	return &EtcdRequests{resource: resource}
}

// Record counts a request that began at start and ended now, with err.
func (r *EtcdRequests) Record(operation Operation, err error, start time.Time) {
	took := time.Since(start)
	o := &r.operations[operation]
	o.once.Do(func() {
		o.duration = requestDuration.WithLabelValues(operation.String(), r.resource.Group, r.resource.Resource)
		o.total = requests.WithLabelValues(operation.String(), r.resource.Group, r.resource.Resource)
	})
	o.duration.Observe(took.Seconds())
	o.total.Inc()
	if err != nil {
		requestErrors.WithLabelValues(operation.String(), r.resource.Group, r.resource.Resource).Inc()
	}
}

// RecordEtcdEvent counts a watch event.
func RecordEtcdEvent(resource schema.GroupResource) {
	eventsReceived.WithLabelValues(resource.Group, resource.Resource).Inc()
}

// RecordEtcdBookmark counts a progress notification.
func RecordEtcdBookmark(resource schema.GroupResource) {
	bookmarkGauge.WithLabelValues(resource.Group, resource.Resource).Inc()
	bookmarks.WithLabelValues(resource.Group, resource.Resource).Inc()
}

// RecordDecodeError counts a stored object that could not be decoded.
func RecordDecodeError(resource schema.GroupResource) {
	decodeErrors.WithLabelValues(resource.Group, resource.Resource).Inc()
}

// RecordLeaseObjects notes how many objects shared a lease that no more will be added to.
func RecordLeaseObjects(count int64) { leaseObjects.WithLabelValues().Observe(float64(count)) }

// ListCost is what it took to answer a list.
type ListCost struct {
	Fetched, Evaluated, Returned int
}

// RecordList counts a list that began at start and ended now, whether or not it succeeded.
func RecordList(resource schema.GroupResource, cost ListCost, start time.Time) {
	const pagesOfRange = "false"
	listDuration.WithLabelValues(pagesOfRange, resource.Group, resource.Resource).Observe(time.Since(start).Seconds())
	NewLists(resource, storageEtcd).Record(cost)
}

// RecordListed counts what was read of a list that was counted before.
func RecordListed(resource schema.GroupResource, cost ListCost) {
	NewLists(resource, storageEtcd).add(cost)
}

// Lists counts the lists that a storage answers for one resource. To keep it spares finding each metric by its labels.
type Lists struct {
	resource schema.GroupResource
	storage  string

	total, fetched, evaluated, returned prometheus.Counter
}

// NewLists counts for a resource. storage tells storages apart: a watch cache counts its lists beside etcd's.
func NewLists(resource schema.GroupResource, storage string) *Lists {
	const noIndex = ""
	return &Lists{
		resource: resource, storage: storage,
		total:     lists.WithLabelValues(resource.Group, resource.Resource, storage, noIndex),
		fetched:   listFetched.WithLabelValues(resource.Group, resource.Resource, storage, noIndex),
		evaluated: listEvaluated.WithLabelValues(resource.Group, resource.Resource, storage),
		returned:  listReturned.WithLabelValues(resource.Group, resource.Resource, storage),
	}
}

// Record counts a list.
func (l *Lists) Record(cost ListCost) {
	l.total.Inc()
	l.add(cost)
}

func (l *Lists) add(cost ListCost) {
	l.fetched.Add(float64(cost.Fetched))
	l.evaluated.Add(float64(cost.Evaluated))
	l.returned.Add(float64(cost.Returned))
}

// Forget takes the counts out of the metrics.
func (l *Lists) Forget() {
	labels := prometheus.Labels{"group": l.resource.Group, "resource": l.resource.Resource, "storage": l.storage}
	for _, v := range []*prometheus.CounterVec{lists, listFetched, listEvaluated, listReturned} {
		v.DeletePartialMatch(labels)
	}
}

// UpdateStoreStats notes what a count of a resource's objects found, or that it failed.
func UpdateStoreStats(resource schema.GroupResource, stats store.Stats, err error) {
	count, size := float64(stats.ObjectCount), float64(stats.ObjectCount*stats.EstimatedAverageObjectSizeBytes)
	if err != nil {
		count = -1
	}
	// Objects without a size are not empty: nobody estimates.
	if err != nil || (stats.ObjectCount > 0 && stats.EstimatedAverageObjectSizeBytes == 0) {
		size = -1
	}
	storageObjects.WithLabelValues(resource.String()).Set(count)
	resourceObjects.WithLabelValues(resource.Group, resource.Resource).Set(count)
	resourceSize.WithLabelValues(resource.Group, resource.Resource).Set(size)
}

// DeleteStoreStats forgets a resource that is no longer served.
func DeleteStoreStats(resource schema.GroupResource) {
	storageObjects.DeleteLabelValues(resource.String())
	resourceObjects.DeleteLabelValues(resource.Group, resource.Resource)
	resourceSize.DeleteLabelValues(resource.Group, resource.Resource)
}

// UpdateStorageSize notes the size of an etcd's database. cluster tells the etcds of one server apart: "etcd-0".
func UpdateStorageSize(cluster string, sizeBytes int64) {
	storageSize.WithLabelValues(cluster).Set(float64(sizeBytes))
}
