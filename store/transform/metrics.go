package transform

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the metrics of one server's transformers.
type Metrics struct {
	operations *prometheus.CounterVec
	durations  *prometheus.HistogramVec
}

// NewMetrics registers the metrics with reg. Without a registry (nil) they count, and nobody reads them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	return &Metrics{
		operations: f.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_storage_transformation_operations_total",
			Help: "Values transformed on their way to or from the storage, by what they begin with there and by how it went.",
		}, []string{"resource", "transformation_type", "transformer_prefix", "status"}),
		durations: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "apiserver_storage_transformation_duration_seconds",
			Help:    "How long it took to transform a value on its way to or from the storage.",
			Buckets: prometheus.ExponentialBuckets(5e-6, 2, 25),
		}, []string{"transformation_type", "transformer_prefix"}),
	}
}

// The values of transformation_type.
const (
	fromStorage = "from_storage"
	toStorage   = "to_storage"
)

// The values of status, which upstream uses for calls of key services, and one for all other failures.
const (
	statusOK     = "OK"
	statusFailed = "unknown-non-grpc"
)

// measure counts what one transformer does for one resource, in one direction. A nil measure counts nothing. It looks each
// metric up once, at the first success: the lookup costs more than counting.
type measure struct {
	metrics                     *Metrics
	resource, direction, prefix string

	once  sync.Once
	total prometheus.Counter
	took  prometheus.Observer
}

// record counts a transformation that began at start and ended now, with err.
func (m *measure) record(start time.Time, err error) {
	if m == nil {
		return
	}
	if err != nil {
		m.metrics.operations.WithLabelValues(m.resource, m.direction, m.prefix, statusFailed).Inc()
		return
	}
	took := time.Since(start)
	m.once.Do(func() {
		m.total = m.metrics.operations.WithLabelValues(m.resource, m.direction, m.prefix, statusOK)
		m.took = m.metrics.durations.WithLabelValues(m.direction, m.prefix)
	})
	m.total.Inc()
	m.took.Observe(took.Seconds())
}

// measures belong to a list of transformers that differ by prefix.
type measures struct {
	reads          []*measure
	write, noMatch *measure
}

// of returns a copy of t that counts, for a resource, its own work and that of its transformers.
func (t *prefixed) of(resource string, metrics *Metrics) *prefixed {
	out := &prefixed{noMatch: t.noMatch, transformers: make([]Prefixed, len(t.transformers))}
	m := &out.measures
	m.reads = make([]*measure, len(t.transformers))
	for i, p := range t.transformers {
		if within, ok := p.Transformer.(*prefixed); ok {
			p.Transformer = within.of(resource, metrics)
		}
		out.transformers[i] = p
		name := string(p.Prefix)
		if name == "" {
			name = "identity"
		}
		m.reads[i] = &measure{metrics: metrics, resource: resource, direction: fromStorage, prefix: name}
	}
	m.noMatch = &measure{metrics: metrics, resource: resource, direction: fromStorage, prefix: "unknown"}
	m.write = &measure{metrics: metrics, resource: resource, direction: toStorage, prefix: string(t.transformers[0].Prefix)}
	return out
}
