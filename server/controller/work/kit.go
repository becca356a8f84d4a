package work

import (
	"log/slog"

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
}

// Writer begins the requests of a controller, as a service account.
func (k *Kit) Writer(controller, account string) *Writer {
	return &Writer{Name: controller, User: ServiceAccount(account), Journeys: k.Journeys, Metrics: k.Metrics}
}
