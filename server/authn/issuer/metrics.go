package issuer

import (
	"crypto/sha256"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// counts are named as those of the Kubernetes API server.
type counts struct {
	reloads    *prometheus.CounterVec
	reloadedAt *prometheus.GaugeVec
	info       *prometheus.GaugeVec
}

func newCounts(reg prometheus.Registerer) *counts {
	f := promauto.With(reg)
	const prefix = "apiserver_authentication_config_controller_"
	return &counts{
		reloads: f.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "automatic_reloads_total", Help: "How often the file of --authentication-config had changed, by whether it was of use.",
		}, []string{"status"}),
		reloadedAt: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "automatic_reload_last_timestamp_seconds", Help: "When the file of --authentication-config had last changed, by whether it was of use.",
		}, []string{"status"}),
		info: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "last_config_info", Help: "The hash of the file of --authentication-config that counts.",
		}, []string{"hash"}),
	}
}

func (c *counts) reloaded(status string) {
	c.reloads.WithLabelValues(status).Inc()
	c.reloadedAt.WithLabelValues(status).SetToCurrentTime()
}

func (c *counts) taken(data []byte) {
	c.info.Reset()
	c.info.WithLabelValues(fmt.Sprintf("sha256:%x", sha256.Sum256(data))).Set(1)
}
