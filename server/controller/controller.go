package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/lease"
	"github.com/kx-apiserver/kx/server/controller/namespace"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/health"
)

// Config selects the controllers that run, and holds what they need.
type Config struct {
	work.Kit
	// Elsewhere returns the resources of other servers that may have objects in namespaces.
	Elsewhere work.Storages
	// Complete returns an error if resources exist, or may exist, that neither Storages nor Elsewhere has.
	Complete func(context.Context) error
	// Controllers selects the controllers of kube-controller-manager.
	Controllers Selection
	// InitialObjects keeps flow schemas, priority levels, APIServices, and the allocations of services;
	// otherwise clients have to.
	InitialObjects bool
	// Process is the name of this process. If other processes may run on the same etcd, only the holder of a
	// Lease runs the controllers.
	Process string
}

// Controllers runs the controllers of one server. mu guards term and ready.
type Controllers struct {
	chosen  Selection
	elector *lease.Elector // nil if no other process may run them
	stop    func()
	// registered is true once there is an API service for each version that this server has.
	registered atomic.Bool

	mu sync.Mutex
	// term is the present run in this process, nil if there is none.
	term *term
	// ready is set once Ready has returned nil: from then on it always does.
	ready bool
}

// term is one run of the controllers in this process. A server without a Lease has one, which begins at its
// start.
type term struct {
	feed  *feed.Feed // nil if none of the controllers is to run
	other *lease.OtherManager
	named map[string]runner
}

// Status reports the state of a controller.
type Status struct {
	Name, Does string
	// On is false if --controllers turns it off. Runs means that it runs in this process.
	On, Runs bool
	// Source is the function that does its work, or a value of the type that does. It is nil if the controller
	// does not run.
	Source any
	work.State
}

// Start starts the controllers, and returns when the namespaces that every server has exist. ctx limits only
// that wait.
func Start(ctx context.Context, c Config) *Controllers {
	life, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	all := &Controllers{chosen: c.Controllers}
	if c.InitialObjects {
		running.Go(func() { keepFlowControl(life, &c.Kit) })
		running.Go(func() { keepAPIServices(life, &c.Kit, &all.registered) })
	}
	stopNamespaces := func() {}
	namespaces := namespace.New(&c.Kit, c.Elsewhere, c.Complete)
	if namespaces != nil {
		namespaces.Start(ctx)
		stopNamespaces = namespaces.Stop
	}
	all.stop = func() {
		cancel()
		stopNamespaces()
		running.Wait()
	}
	run := func(ctx context.Context) { all.run(ctx, &c, namespaces) }
	if c.Shared && c.Controllers.any() {
		all.elector = lease.New(c.Storage, c.Process, c.Log)
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

// begin sets the present term, nil at its end.
func (all *Controllers) begin(t *term) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.term = t
}

// Stop ends the controllers and waits for them.
func (all *Controllers) Stop() { all.stop() }

// Status returns the state of each controller of kube-controller-manager, sorted by name.
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

// Holder returns the process that holds the Lease of the controllers, and whether it is this one. The name is
// empty if no Lease is needed, or no holder is known.
func (all *Controllers) Holder() (name string, own bool) {
	if all.elector == nil {
		return "", false
	}
	return all.elector.Holder()
}

// OtherManager returns the kube-controller-manager that runs the same controllers, if one is known.
func (all *Controllers) OtherManager() string {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.term == nil || all.term.other == nil {
		return ""
	}
	return all.term.other.Holder()
}

// CheckRegistered returns an error until there is an API service for each version that this server has, if it keeps
// them.
func (all *Controllers) CheckRegistered(context.Context) error {
	if !all.registered.Load() {
		return errors.New("not all API services exist yet")
	}
	return nil
}

// Learn waits until the controllers have seen the changes up to a revision, at which a key was written. Those that
// don't run have nothing to see.
func (all *Controllers) Learn(ctx context.Context, revision int64) error {
	all.mu.Lock()
	var from *feed.Feed
	if all.term != nil {
		from = all.term.feed
	}
	all.mu.Unlock()
	if from == nil {
		return nil
	}
	return from.Learn(ctx, revision)
}

// Ready returns an error until the controllers have seen all keys, or leave the work to the holder of the
// Lease. Then it always returns nil, also while they compete for the Lease again or recover from trouble with
// etcd.
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
