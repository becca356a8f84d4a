package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var certificateEnds = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "kx_certificate_expiration_timestamp_seconds",
	Help: "When a certificate that the server works with expires, by what it is for or the flag that gave it. Those of clients are in apiserver_client_certificate_expiration_seconds.",
}, []string{"certificate"})

func init() { prometheus.MustRegister(certificateEnds) }

// CertificateEnds says when a certificate expires.
func CertificateEnds(certificate string, end time.Time) {
	certificateEnds.WithLabelValues(certificate).Set(float64(end.Unix()))
}
