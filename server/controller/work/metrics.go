package work

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics counts the work of loops, under the names of client-go's work queues.
type Metrics struct {
	depth                         *prometheus.GaugeVec
	adds, retries, errors, writes *prometheus.CounterVec
	waited, worked                *prometheus.HistogramVec
}

// Counts are the metrics of one controller.
type Counts struct {
	depth                 prometheus.Gauge
	adds, retries, errors prometheus.Counter
	waited, worked        prometheus.Observer
}

// NewMetrics registers the metrics with reg. Without a registry (nil) they count, but are not exported.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f, labels := promauto.With(reg), []string{"name"}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	seconds := func(name, help string) *prometheus.HistogramVec {
		return f.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(10e-6, 10, 8)},
			labels)
	}
	return &Metrics{
		depth: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "workqueue_depth", Help: "How many keys wait for a controller, those that are tried again later included."}, labels),
		adds:    counter("workqueue_adds_total", "How often a key was added for a controller.", labels...),
		retries: counter("workqueue_retries_total", "How often a controller had to try again.", labels...),
		errors:  counter("kx_controller_errors_total", "How often a controller could not do what it should.", labels...),
		writes:  counter("kx_controller_writes_total", "Writes of controllers, by how they ended.", "name", "resource", "verb", "code"),
		waited:  seconds("workqueue_queue_duration_seconds", "How long keys waited until a controller looked at them."),
		worked:  seconds("workqueue_work_duration_seconds", "How long controllers worked on a key."),
	}
}

// Counts returns the metrics of a controller. Without Metrics (nil) they count, but are not exported.
func (m *Metrics) Counts(name string) *Counts {
	if m == nil {
		m = NewMetrics(nil)
	}
	return &Counts{
		depth: m.depth.WithLabelValues(name), adds: m.adds.WithLabelValues(name), retries: m.retries.WithLabelValues(name),
		errors: m.errors.WithLabelValues(name), waited: m.waited.WithLabelValues(name), worked: m.worked.WithLabelValues(name),
	}
}

// Add counts a key. waiting is the new number of waiting keys.
func (c *Counts) Add(waiting int) {
	c.adds.Inc()
	c.depth.Set(float64(waiting))
}

// Start counts the start of an attempt at a key that has waited since a time, zero if that is unknown. waiting
// is the new number of waiting keys.
func (c *Counts) Start(waiting int, since time.Time) {
	c.depth.Set(float64(waiting))
	if !since.IsZero() {
		c.waited.Observe(max(time.Since(since), 0).Seconds())
	}
}

// Finish counts the end of an attempt.
func (c *Counts) Finish(began time.Time) { c.worked.Observe(time.Since(began).Seconds()) }

// Retry counts another attempt, and whether the last one failed.
func (c *Counts) Retry(failed bool) {
	c.retries.Inc()
	if failed {
		c.errors.Inc()
	}
}
