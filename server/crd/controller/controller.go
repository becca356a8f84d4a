package controller

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	controllers "github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/crd/lister"
	serverdiscovery "github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// Config has what the controllers need.
type Config struct {
	// Lister must not be running yet.
	Lister *lister.Lister
	// Status is the storage of customresourcedefinitions/status.
	Status rest.Updater
	// Journeys (optional) records what the controllers write.
	Journeys *trace.Recorder
	// Metrics (optional) counts it.
	Metrics *controllers.Metrics
	// Objects returns the storage of a definition's objects.
	Objects CRClientGetter
	// Discovery holds the server's discovery documents.
	Discovery *serverdiscovery.Manager
	// Gate (optional) is passed by each write of the storages.
	Gate *etcd3.Gate
	Log  *slog.Logger
}

// Controllers has all controllers of definitions.
type Controllers struct {
	all       []func(context.Context)
	discovery *publication
}

// New creates the controllers and subscribes them to the lister.
func New(c Config) *Controllers {
	status := statusWriter{Storage: c.Status, Journeys: c.Journeys, Metrics: c.Metrics, Gate: c.Gate}
	return &Controllers{
		all: []func(context.Context){
			newNaming(c.Lister, status.forController("naming"), c.Log).Run,
			newEstablishing(c.Lister, status.forController("establishing"), c.Log).Run,
			newNonStructural(c.Lister, status.forController("nonstructural"), c.Log).Run,
			newAPIApproval(c.Lister, status.forController("apiapproval"), c.Log).Run,
			newFinalizing(c.Lister, status.forController("finalizing"), c.Objects, c.Log).Run,
		},
		discovery: newPublication(c.Lister, c.Discovery),
	}
}

// Run runs the controllers until ctx ends, and returns when all have ended. The caller also runs the lister.
func (c *Controllers) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, run := range c.all {
		running.Go(func() { run(ctx) })
	}
	running.Wait()
}

// WithDiscovery updates discovery documents with custom resources before next serves one.
func (c *Controllers) WithDiscovery(next http.Handler) http.Handler {
	return c.discovery.WithDiscovery(next)
}

// UpdateDiscovery updates the documents for a caller without a request.
func (c *Controllers) UpdateDiscovery(ctx context.Context) { c.discovery.Update(ctx) }
