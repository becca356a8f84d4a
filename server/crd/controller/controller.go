package controller

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/controller/apiapproval"
	"github.com/kx-apiserver/kx/server/crd/controller/discovery"
	"github.com/kx-apiserver/kx/server/crd/controller/establishing"
	"github.com/kx-apiserver/kx/server/crd/controller/finalizing"
	"github.com/kx-apiserver/kx/server/crd/controller/naming"
	"github.com/kx-apiserver/kx/server/crd/controller/nonstructural"
	"github.com/kx-apiserver/kx/server/crd/controller/work"
	"github.com/kx-apiserver/kx/server/crd/lister"
	serverdiscovery "github.com/kx-apiserver/kx/server/discovery"
)

// Config is what the controllers work with.
type Config struct {
	// Lister has not been run yet.
	Lister *lister.Lister
	// Status is the storage of customresourcedefinitions/status.
	Status rest.Updater
	// Objects finds the storage of a definition's objects.
	Objects finalizing.CRClientGetter
	// Discovery is where the server tells of itself.
	Discovery *serverdiscovery.Manager
	Log       *slog.Logger
}

// Controllers are all controllers of definitions.
type Controllers struct {
	all       []func(context.Context)
	discovery *discovery.Controller
}

// New makes the controllers and subscribes them to the lister.
func New(c Config) *Controllers {
	status := work.Status{Storage: c.Status}
	return &Controllers{
		all: []func(context.Context){
			naming.New(c.Lister, status, c.Log).Run,
			establishing.New(c.Lister, status, c.Log).Run,
			nonstructural.New(c.Lister, status, c.Log).Run,
			apiapproval.New(c.Lister, status, c.Log).Run,
			finalizing.New(c.Lister, status, c.Objects, c.Log).Run,
		},
		discovery: discovery.New(c.Lister, c.Discovery),
	}
}

// Run runs the controllers until ctx ends, and returns when they have ended. The lister must be run too.
func (c *Controllers) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, run := range c.all {
		running.Go(func() { run(ctx) })
	}
	running.Wait()
}

// WithDiscovery has discovery tell of custom resources before next, which serves its pages, is asked for one.
func (c *Controllers) WithDiscovery(next http.Handler) http.Handler {
	return c.discovery.WithDiscovery(next)
}
