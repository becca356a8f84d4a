package work

import (
	"crypto/x509"
	"log/slog"
	"time"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/admin"
)

// Kit has what controllers are made with.
type Kit struct {
	Storages Storages
	// Etcd is what the storages keep their objects in, and Decoder knows the prefix of their keys and how values are encrypted.
	Etcd    *admin.Live
	Decoder *admin.Decoder
	// Journeys (optional) records what the controllers write.
	Journeys *trace.Recorder
	Metrics  *Metrics
	Log      *slog.Logger
	// SignClient signs client certificates that this server accepts, and SigningDuration is how long they are valid at most.
	SignClient      Sign
	SigningDuration time.Duration
}

// Sign signs a certificate for a key, and returns it in PEM.
type Sign func(template *x509.Certificate, public any) (certPEM []byte, err error)

// Writer begins the requests of a controller, as a service account.
func (k *Kit) Writer(controller, account string) *Writer {
	return &Writer{Name: controller, User: ServiceAccount(account), Journeys: k.Journeys, Metrics: k.Metrics}
}
