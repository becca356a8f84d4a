package controller

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/lease"
	"github.com/kx-apiserver/kx/server/controller/namespace"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/health"
)

// Config says which controllers run, and has what they need.
type Config struct {
	work.Kit
	// Elsewhere has the resources of other servers that may have objects in namespaces.
	Elsewhere work.Storages
	// Complete returns an error if there are, or may be, resources that neither has.
	Complete func(context.Context) error
	// Controllers are those of kube-controller-manager that run.
	Controllers Selection
	// InitialObjects has flow schemas, priority levels, APIServices, and what services have, kept; otherwise they are
	// left to clients.
	InitialObjects bool
	// Process is the name of this process. If others may run on the same etcd, the controllers run in the one that
	// holds a Lease.
	Process string
}

// Controllers are those of one server.
type Controllers struct {
	chosen  Selection
	elector *lease.Elector // nil if nobody else may run
	stop    func()

	mu sync.Mutex
	// term is what there is while they run in this process.
	term *term
	// ready says that Ready returned nil once: from then on it does.
	ready bool
}

// term is one time of the controllers in this process. A server without a Lease has one, which begins at its start.
type term struct {
	feed  *feed.Feed // nil if none of the controllers is to run
	other *lease.Other
	named map[string]runner
}

// Status says how a controller does.
type Status struct {
	Name, Does string
	// On is false for one that --controllers turns off. Runs says that it runs in this process.
	On, Runs bool
	// Source is the function that does its work, or a value of the type that does. It is nil where the controller does
	// not run.
	Source any
	work.State
}

// Start starts the controllers, and returns when the namespaces that every server has exist. ctx bounds only that.
func Start(ctx context.Context, c Config) *Controllers {
	life, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if c.InitialObjects {
		running.Go(func() { keepFlowControl(life, &c.Kit) })
		running.Go(func() { keepAPIServices(life, &c.Kit) })
	}
	stopNamespaces := func() {}
	namespaces := namespace.New(&c.Kit, c.Elsewhere, c.Complete)
	if namespaces != nil {
		namespaces.Start(ctx)
		stopNamespaces = namespaces.Stop
	}
	all := &Controllers{chosen: c.Controllers, stop: func() {
		cancel()
		stopNamespaces()
		running.Wait()
	}}
	run := func(ctx context.Context) { all.run(ctx, &c, namespaces) }
	if c.Shared && c.Controllers.any() {
		all.elector = lease.New(c.Storages, c.Process, c.Log)
		running.Go(func() { all.elector.Run(life, run) })
	} else {
		running.Go(func() { run(life) })
	}
	return all
}

// run runs the controllers until ctx ends, and returns when all have ended.
func (all *Controllers) run(ctx context.Context, c *Config, namespaces *namespace.Controller) {
	var running sync.WaitGroup
	from, other, named := feed.New(c.Etcd, c.Decoder, c.Log), lease.NewOther(c.Decoder, c.Log), map[string]runner{}
	for _, k := range known {
		if k.make != nil && c.Controllers.Has(k.name) {
			named[k.name] = k.start(&c.Kit, from)
		}
	}
	if namespaces != nil && c.Controllers.Has(Namespace) {
		named[Namespace] = namespaces
	}
	list := slices.Collect(maps.Values(named))
	if c.InitialObjects {
		for _, k := range own {
			list = append(list, k.start(&c.Kit, from))
		}
	}
	if len(list) == 0 {
		all.begin(&term{})
		return
	}
	if len(named) > 0 { // else there is nothing that a kube-controller-manager does as well
		from.Follow(other, lease.Resource)
	}
	all.begin(&term{feed: from, other: other, named: named})
	defer all.begin(nil)
	for _, one := range list {
		running.Go(func() { one.Run(ctx) })
	}
	running.Go(func() { from.Run(ctx) })
	running.Wait()
}

// begin begins a term, or ends it if there is none.
func (all *Controllers) begin(t *term) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.term = t
}

// Stop ends the controllers and waits for them.
func (all *Controllers) Stop() { all.stop() }

// Status returns how each controller of kube-controller-manager does, in the order of their names.
func (all *Controllers) Status() (list []Status) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, k := range known {
		s := Status{Name: k.name, Does: k.does, On: all.chosen.Has(k.name)}
		if all.term != nil && all.term.named[k.name] != nil {
			c := all.term.named[k.name]
			s.Runs, s.State, s.Source = true, c.State(), source(c)
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Holder is the process that holds the Lease of the controllers, and whether it is this one; empty if none is needed,
// or none is known.
func (all *Controllers) Holder() (name string, own bool) {
	if all.elector == nil {
		return "", false
	}
	return all.elector.Holder()
}

// Other is the kube-controller-manager that runs the same controllers, as far as it is known.
func (all *Controllers) Other() string {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.term == nil || all.term.other == nil {
		return ""
	}
	return all.term.other.Holder()
}

// Ready returns an error until the controllers know what there is, or leave the work to the process that holds the
// Lease. Then it returns nil, also while they look again for the Lease or after trouble with etcd.
func (all *Controllers) Ready(context.Context) error {
	holder, own := all.Holder()
	all.mu.Lock()
	defer all.mu.Unlock()
	elsewhere := holder != "" && !own
	switch {
	case all.ready:
	case all.term == nil && all.elector == nil:
		return health.Reason("they have not begun yet")
	case all.term == nil && !elsewhere:
		reason := "it is not known yet who holds their Lease"
		if err := all.elector.Failure(); err != nil {
			reason += ": " + err.Error()
		}
		return health.Reason(reason)
	case all.term != nil && all.term.feed != nil && !all.term.feed.Looked():
		return health.Reason("they have not looked at all keys yet")
	}
	all.ready = true
	return nil
}
