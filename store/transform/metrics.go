package transform

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kx-apiserver/kx/store/transform/kms"
)

// Metrics are the metrics of one server's transformers.
type Metrics struct {
	operations *prometheus.CounterVec
	durations  *prometheus.HistogramVec

	calls    *prometheus.HistogramVec
	keys     *prometheus.CounterVec
	lastKeys *prometheus.GaugeVec
	// used has keyCounts by keyUse: to hash an id for each value costs more than counting.
	used sync.Map
}

// NewMetrics registers the metrics with reg. With a nil registry they count unregistered.
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
		calls: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "apiserver_envelope_encryption_kms_operations_latency_seconds",
			Help:    "How long calls of KMS plugins took, by how they ended.",
			Buckets: prometheus.ExponentialBuckets(1e-4, 2, 20),
		}, []string{"provider_name", "method_name", "grpc_status_code"}),
		keys: f.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_envelope_encryption_key_id_hash_total",
			Help: "Values encrypted or decrypted with a key of a KMS plugin, by the hash of the key's id.",
		}, []string{"transformation_type", "provider_name", "key_id_hash"}),
		lastKeys: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
			Help: "When a key of a KMS plugin was used last, by the hash of its id.",
		}, []string{"transformation_type", "provider_name", "key_id_hash"}),
	}
}

// ObserveCall counts a call of a KMS plugin.
func (m *Metrics) ObserveCall(plugin, method, code string, took time.Duration) {
	m.calls.WithLabelValues(plugin, method, code).Observe(took.Seconds())
}

// ObserveUse counts a value that was encrypted or decrypted with a key of a KMS plugin.
func (m *Metrics) ObserveUse(plugin, direction, keyID string) {
	use := keyUse{plugin, direction, keyID}
	found, ok := m.used.Load(use)
	if !ok {
		hash := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(keyID)))
		found, _ = m.used.LoadOrStore(use, keyCounts{m.keys.WithLabelValues(direction, plugin, hash),
			m.lastKeys.WithLabelValues(direction, plugin, hash)})
	}
	counts := found.(keyCounts)
	counts.total.Inc()
	counts.last.SetToCurrentTime()
}

// keyUse is the set of labels that uses of keys are counted by.
type keyUse struct{ plugin, direction, keyID string }

type keyCounts struct {
	total prometheus.Counter
	last  prometheus.Gauge
}

// The values of transformation_type.
const (
	fromStorage = kms.FromStorage
	toStorage   = kms.ToStorage
)

// The values of status, which upstream uses for calls of key services, and one for all other failures.
const (
	statusOK     = "OK"
	statusFailed = "unknown-non-grpc"
)

// measure counts what one transformer does for one resource, in one direction. A nil measure counts nothing. It looks
// each metric up once, at the first success: the lookup costs more than counting.
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

// withMetrics returns a copy of t that counts, for a resource, its own work and that of its transformers.
func (t *prefixChain) withMetrics(resource string, metrics *Metrics) *prefixChain {
	out := &prefixChain{noMatch: t.noMatch, transformers: make([]PrefixTransformer, len(t.transformers))}
	m := &out.measures
	m.reads = make([]*measure, len(t.transformers))
	for i, p := range t.transformers {
		if within, ok := p.Transformer.(*prefixChain); ok {
			p.Transformer = within.withMetrics(resource, metrics)
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
