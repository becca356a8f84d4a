package factory

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kx-apiserver/kx/core/object"
	cachemetrics "github.com/kx-apiserver/kx/store/cacher/metrics"
	"github.com/kx-apiserver/kx/store/etcd3"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
	"github.com/kx-apiserver/kx/store/transform"
)

// Pool holds the resources that all storages of a server use: connections to etcd, metrics, and memory for encoded
// objects. Several servers in one process have one each. mu guards transports and their refs.
type Pool struct {
	// Metrics, Caches and Transforms count what storages, their cachers and their transformers do.
	Metrics    *metrics.Metrics
	Caches     *cachemetrics.Metrics
	Transforms *transform.Metrics
	// Pins keep history from the compactors.
	Pins etcd3.Pins
	// Gate is passed by each write. A rewind shuts it.
	Gate etcd3.Gate

	forms *object.Forms
	log   *slog.Logger

	mu         sync.Mutex
	transports map[transportKey]*transport
}

// NewPool registers the metrics with reg; compactors write to log. Without reg the metrics are not registered, without
// log messages are dropped.
func NewPool(reg prometheus.Registerer, log *slog.Logger) *Pool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	storages := metrics.New(reg)
	return &Pool{
		Metrics:    storages,
		Caches:     cachemetrics.New(reg, storages),
		Transforms: transform.NewMetrics(reg),
		forms:      object.NewForms(),
		log:        log,
		transports: map[transportKey]*transport{},
	}
}
