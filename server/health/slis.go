package health

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// SLIs count the results of checks for /metrics/slis. A nil *SLIs counts nothing.
type SLIs struct {
	registry *prometheus.Registry
	last     *prometheus.GaugeVec
	total    *prometheus.CounterVec
}

// NewSLIs makes the counters of one server, with the names and help of Kubernetes.
func NewSLIs() *SLIs {
	s := &SLIs{registry: prometheus.NewRegistry()}
	f := promauto.With(s.registry)
	s.last = f.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kubernetes_healthcheck", Help: "[STABLE] This metric records the result of a single healthcheck.",
	}, []string{"name", "type"})
	s.total = f.NewCounterVec(prometheus.CounterOpts{
		Name: "kubernetes_healthchecks_total", Help: "[STABLE] This metric records the results of all healthcheck.",
	}, []string{"name", "status", "type"})
	return s
}

// Handler serves the counters.
func (s *SLIs) Handler() http.Handler { return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}) }

func (s *SLIs) observe(check, endpoint string, err error) {
	if s == nil {
		return
	}
	value, status := 1.0, "success"
	if err != nil {
		value, status = 0, "error"
	}
	s.last.WithLabelValues(check, endpoint).Set(value)
	s.total.WithLabelValues(check, status, endpoint).Inc()
}
