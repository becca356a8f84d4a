package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
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

// Resource counts for the storage of one resource. Finding a metric by its labels costs several times what adding to
// it costs. So a Resource finds each once, at its first event: an operation that never happens has no metric.
type Resource struct {
	metrics    *Metrics
	resource   schema.GroupResource
	operations [numOperations]struct {
		once     sync.Once
		duration prometheus.Observer
		total    prometheus.Counter
		labels   string // for people
	}
}

// For returns the counts of a resource.
func (m *Metrics) For(resource schema.GroupResource) *Resource {
	return &Resource{metrics: m, resource: resource}
}

var (
	etcdCounted = trace.Because("etcd-counted",
		"in etcd_requests_total and etcd_request_duration_seconds: {labels:word}",
		"计入 etcd_requests_total 和 etcd_request_duration_seconds：{labels:word}")
	etcdCountedFailed = trace.Because("etcd-counted-failed",
		"in etcd_requests_total, etcd_request_errors_total and etcd_request_duration_seconds: {labels:word}",
		"计入 etcd_requests_total、etcd_request_errors_total 和 etcd_request_duration_seconds：{labels:word}")
)

// Request counts a request of ctx that began at start and ended now, with err.
func (r *Resource) Request(ctx context.Context, operation Operation, err error, start time.Time) {
	took := time.Since(start)
	_, step := trace.Start(ctx, steps.Etcd3Metrics, "")
	defer step.End(nil)
	o := &r.operations[operation]
	o.once.Do(func() {
		o.duration = r.metrics.requestDuration.WithLabelValues(operation.String(), r.resource.Group, r.resource.Resource)
		o.total = r.metrics.requests.WithLabelValues(operation.String(), r.resource.Group, r.resource.Resource)
		o.labels = "operation=" + operation.String() + ", resource=" + r.resource.Resource
		if r.resource.Group != "" {
			o.labels += ", group=" + r.resource.Group
		}
	})
	o.duration.Observe(took.Seconds())
	o.total.Inc()
	if err == nil {
		step.WhyText(etcdCounted, o.labels)
		return
	}
	r.metrics.requestErrors.WithLabelValues(operation.String(), r.resource.Group, r.resource.Resource).Inc()
	step.WhyText(etcdCountedFailed, o.labels)
}

// Event counts a watch event.
func (r *Resource) Event() {
	r.metrics.eventsReceived.WithLabelValues(r.resource.Group, r.resource.Resource).Inc()
}

// Bookmark counts a progress notification.
func (r *Resource) Bookmark() {
	r.metrics.bookmarkGauge.WithLabelValues(r.resource.Group, r.resource.Resource).Inc()
	r.metrics.bookmarks.WithLabelValues(r.resource.Group, r.resource.Resource).Inc()
}

// DecodeError counts a stored object that could not be decoded.
func (r *Resource) DecodeError() {
	r.metrics.decodeErrors.WithLabelValues(r.resource.Group, r.resource.Resource).Inc()
}

// LeaseObjects records how many objects share a lease that takes no more.
func (r *Resource) LeaseObjects(count int64) {
	r.metrics.leaseObjects.WithLabelValues().Observe(float64(count))
}

// ListCost counts the objects that it took to answer a list.
type ListCost struct {
	Fetched, Evaluated, Returned int
}

// List counts a list that began at start and ended now, whether or not it succeeded.
func (r *Resource) List(cost ListCost, start time.Time) {
	const pagesOfRange = "false"
	r.metrics.listDuration.WithLabelValues(pagesOfRange, r.resource.Group, r.resource.Resource).Observe(time.Since(start).Seconds())
	r.metrics.Lists(r.resource, storageEtcd).Record(cost)
}

// ListRest counts the objects that were read of a list after List counted it.
func (r *Resource) ListRest(cost ListCost) {
	r.metrics.Lists(r.resource, storageEtcd).add(cost)
}

// Lists counts the lists that a storage answers for one resource. To keep it saves finding each metric by its labels.
type Lists struct {
	metrics  *Metrics
	resource schema.GroupResource
	storage  string

	total, fetched, evaluated, returned prometheus.Counter
}

// Lists returns the counts of a resource's lists. storage tells storages apart: a watch cache counts its lists beside
// etcd's.
func (m *Metrics) Lists(resource schema.GroupResource, storage string) *Lists {
	const noIndex = ""
	return &Lists{
		metrics: m, resource: resource, storage: storage,
		total:     m.lists.WithLabelValues(resource.Group, resource.Resource, storage, noIndex),
		fetched:   m.listFetched.WithLabelValues(resource.Group, resource.Resource, storage, noIndex),
		evaluated: m.listEvaluated.WithLabelValues(resource.Group, resource.Resource, storage),
		returned:  m.listReturned.WithLabelValues(resource.Group, resource.Resource, storage),
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
	for _, v := range []*prometheus.CounterVec{l.metrics.lists, l.metrics.listFetched, l.metrics.listEvaluated, l.metrics.listReturned} {
		v.DeletePartialMatch(labels)
	}
}
