package controller

import (
	"context"
	"sync"

	"github.com/kx-apiserver/kx/server/controller/apiservice"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/flowcontrol"
	"github.com/kx-apiserver/kx/server/controller/garbage"
	"github.com/kx-apiserver/kx/server/controller/namespace"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// Controller is one of those that follow what is in etcd.
type Controller interface {
	// Run works until ctx ends.
	Run(ctx context.Context)
	State() work.State
}

// Names of controllers that kube-controller-manager has too.
const (
	Garbage   = "garbage-collector-controller"
	Namespace = "namespace-controller"
)

// known are the controllers of kube-controller-manager that kx has.
var known = []struct {
	name string
	// short is another name that kube-controller-manager has for it.
	short string
	// make makes it, and has it follow what it needs; nil for the one of namespaces, which begins before all others.
	make func(*work.Kit, *feed.Feed) Controller
}{
	{name: Garbage, short: "garbagecollector", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := garbage.New(kit)
		from.Follow(c)
		return c
	}},
	{name: Namespace, short: "namespace"},
}

// Config says which controllers run, and has what they need.
type Config struct {
	work.Kit
	// Controllers are those of kube-controller-manager that run.
	Controllers Selection
	// InitialObjects has flow schemas, priority levels and APIServices kept; otherwise they are left to clients.
	InitialObjects bool
}

// Running are controllers that run.
type Running struct {
	feed *feed.Feed
	stop func()
}

// Start starts the controllers, and returns when the namespaces that every server has exist. ctx bounds only that.
func Start(ctx context.Context, c Config) *Running {
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
	r := &Running{feed: feed.New(c.Etcd, c.Decoder.Prefix, c.Log)}
	for _, k := range known {
		if k.make == nil || !c.Controllers.Has(k.name) {
			continue
		}
		one := k.make(&c.Kit, r.feed)
		running.Go(func() { one.Run(life) })
	}
	running.Go(func() { r.feed.Run(life) })
	r.stop = func() {
		cancel()
		stopNamespaces()
		running.Wait()
	}
	return r
}

// Stop ends the controllers and waits for them.
func (r *Running) Stop() { r.stop() }
