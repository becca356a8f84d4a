package controller

import (
	"context"
	"log/slog"
	"sync"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/apiservice"
	"github.com/kx-apiserver/kx/server/controller/flowcontrol"
	"github.com/kx-apiserver/kx/server/controller/garbage"
	"github.com/kx-apiserver/kx/server/controller/namespace"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
)

// Config says which controllers run, and has what they need.
type Config struct {
	Storages work.Storages
	// Controllers are those of kube-controller-manager that run.
	Controllers Selection
	// InitialObjects has flow schemas, priority levels and APIServices kept; otherwise they are left to clients.
	InitialObjects bool
	// Etcd is what the storages keep their objects in, and Decoder knows how.
	Etcd    *admin.Live
	Decoder *admin.Decoder
	// Journeys (optional) records what the controllers write.
	Journeys *trace.Recorder
	Log      *slog.Logger
}

// Start starts the controllers, and returns when the namespaces that every server has exist. ctx bounds only that. stop ends the
// controllers and waits for them.
func Start(ctx context.Context, c Config) (stop func()) {
	life, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if c.InitialObjects {
		if kept := flowcontrol.New(c.Storages, c.Log); kept != nil {
			running.Go(func() { kept.Run(life) })
		}
		if kept := apiservice.New(c.Storages, c.Log); kept != nil {
			running.Go(func() { kept.Run(life) })
		}
	}
	stopNamespaces := func() {}
	if namespaces := namespace.New(c.Storages, c.Controllers.Has(Namespace), c.Log); namespaces != nil {
		namespaces.Start(ctx)
		stopNamespaces = namespaces.Stop
	}
	if c.Controllers.Has(Garbage) {
		collector := garbage.New(garbage.Config{Storages: c.Storages, Etcd: c.Etcd, Decoder: c.Decoder, Journeys: c.Journeys, Log: c.Log})
		running.Go(func() { collector.Run(life) })
	}
	return func() {
		cancel()
		stopNamespaces()
		running.Wait()
	}
}
