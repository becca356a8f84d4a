package transform

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	operations = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "apiserver_storage_transformation_operations_total",
		Help: "Values transformed on their way to or from the storage, by what they begin with there and by how it went.",
	}, []string{"resource", "transformation_type", "transformer_prefix", "status"})
	durations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "apiserver_storage_transformation_duration_seconds",
		Help:    "How long it took to transform a value on its way to or from the storage.",
		Buckets: prometheus.ExponentialBuckets(5e-6, 2, 25),
	}, []string{"transformation_type", "transformer_prefix"})
)

func init() { prometheus.MustRegister(operations, durations) }

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
		operations.WithLabelValues(m.resource, m.direction, m.prefix, statusFailed).Inc()
		return
	}
	took := time.Since(start)
	m.once.Do(func() {
		m.total = operations.WithLabelValues(m.resource, m.direction, m.prefix, statusOK)
		m.took = durations.WithLabelValues(m.direction, m.prefix)
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
func (t *prefixed) of(resource string) *prefixed {
	out := &prefixed{noMatch: t.noMatch, transformers: make([]Prefixed, len(t.transformers))}
	m := &out.measures
	m.reads = make([]*measure, len(t.transformers))
	for i, p := range t.transformers {
		if within, ok := p.Transformer.(*prefixed); ok {
			p.Transformer = within.of(resource)
		}
		out.transformers[i] = p
		name := string(p.Prefix)
		if name == "" {
			name = "identity"
		}
		m.reads[i] = &measure{resource: resource, direction: fromStorage, prefix: name}
	}
	m.noMatch = &measure{resource: resource, direction: fromStorage, prefix: "unknown"}
	m.write = &measure{resource: resource, direction: toStorage, prefix: string(t.transformers[0].Prefix)}
	return out
}
