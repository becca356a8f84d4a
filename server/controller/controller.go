package controller

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/server/controller/apiservice"
	"github.com/kx-apiserver/kx/server/controller/certificates"
	"github.com/kx-apiserver/kx/server/controller/clusterrole"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/fixture"
	"github.com/kx-apiserver/kx/server/controller/flowcontrol"
	"github.com/kx-apiserver/kx/server/controller/garbage"
	"github.com/kx-apiserver/kx/server/controller/lease"
	"github.com/kx-apiserver/kx/server/controller/legacytoken"
	"github.com/kx-apiserver/kx/server/controller/namespace"
	"github.com/kx-apiserver/kx/server/controller/policystatus"
	"github.com/kx-apiserver/kx/server/controller/protection"
	"github.com/kx-apiserver/kx/server/controller/repair"
	"github.com/kx-apiserver/kx/server/controller/resourcequota"
	"github.com/kx-apiserver/kx/server/controller/servicecidr"
	"github.com/kx-apiserver/kx/server/controller/tokensecret"
	"github.com/kx-apiserver/kx/server/controller/ttlafterfinished"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/health"
)

// Controller is one of those that follow what is in etcd.
type Controller interface {
	// Run works until ctx ends.
	Run(ctx context.Context)
	State() work.State
}

// Names of controllers that kube-controller-manager has too.
const (
	Garbage         = "garbage-collector-controller"
	Namespace       = "namespace-controller"
	RootCA          = "root-ca-cert-publisher-controller"
	ServiceAccounts = "serviceaccount-controller"
	Quota           = "resourcequota-controller"
)

// info is what is known of a controller before it is made.
type info struct {
	name string
	// short is another name that kube-controller-manager has for it.
	short string
	does  string
	// make makes it, and has it follow what it needs; nil for the one of namespaces, which is made before all others.
	make func(*work.Kit, *feed.Feed) Controller
}

// known are the controllers of kube-controller-manager that kx has.
var known = []info{
	{name: Garbage, short: "garbagecollector", does: "delete objects whose owners are gone", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := garbage.New(kit)
		from.Follow(c)
		return c
	}},
	{name: Namespace, short: "namespace", does: "empty deleted namespaces"},
	{name: certificates.Signing, does: "sign approved requests for client certificates", short: "csrsigning", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := certificates.NewSigner(kit)
		from.Follow(c, certificates.Resource.GroupResource())
		return c
	}},
	{name: certificates.Cleaning, does: "remove old requests for certificates", short: "csrcleaner", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := certificates.NewCleaner(kit)
		from.Follow(c, certificates.Resource.GroupResource())
		return c
	}},
	{name: clusterrole.Name, short: "clusterrole-aggregation", does: "give cluster roles the rules of those they select", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := clusterrole.New(kit)
		from.Follow(c, clusterrole.Resource.GroupResource())
		return c
	}},
	{name: protection.Claims, short: "pvc-protection", does: "keep claims of volumes while pods use them", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := protection.NewClaims(kit)
		from.Follow(c, protection.ClaimResource.GroupResource(), protection.PodResource.GroupResource())
		return c
	}},
	{name: protection.Volumes, short: "pv-protection", does: "keep volumes while they are bound", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := protection.NewVolumes(kit)
		from.Follow(c, protection.VolumeResource.GroupResource())
		return c
	}},
	{name: servicecidr.Name, does: "keep ranges of service addresses in use", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := servicecidr.New(kit)
		from.Follow(c, servicecidr.Resource.GroupResource(), servicecidr.AddressResource.GroupResource())
		return c
	}},
	{name: ttlafterfinished.Name, short: "ttl-after-finished", does: "delete finished jobs when their time is over", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := ttlafterfinished.New(kit)
		from.Follow(c, ttlafterfinished.Resource.GroupResource())
		return c
	}},
	{name: Quota, short: "resourcequota", does: "count what is used of quotas", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := resourcequota.New(kit)
		from.Follow(c)
		return c
	}},
	{name: RootCA, short: "root-ca-cert-publisher", does: "tell every namespace whom to trust", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := fixture.NewRootCA(kit)
		from.Follow(c, corev1.Resource("namespaces"), corev1.Resource("configmaps"))
		return c
	}},
	{name: ServiceAccounts, short: "serviceaccount", does: "give every namespace a service account", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := fixture.NewServiceAccounts(kit)
		from.Follow(c, corev1.Resource("namespaces"), corev1.Resource("serviceaccounts"))
		return c
	}},
	{name: tokensecret.Name, short: "serviceaccount-token", does: "fill secrets with tokens of service accounts", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := tokensecret.New(kit)
		from.Follow(c, tokensecret.Resource.GroupResource(), tokensecret.AccountResource.GroupResource())
		return c
	}},
	{name: legacytoken.Name, short: "legacy-service-account-token-cleaner", does: "retire tokens of service accounts that nobody uses", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := legacytoken.NewCleaner(kit)
		from.Follow(c, legacytoken.Resource.GroupResource())
		return c
	}},
	{name: policystatus.Name, does: "check the types of policies' expressions", make: func(kit *work.Kit, from *feed.Feed) Controller {
		c := policystatus.New(kit)
		from.Follow(c, policystatus.Resource.GroupResource())
		return c
	}},
}

// own are a Kubernetes API server's own, which run wherever it makes initial objects.
var own = []func(*work.Kit, *feed.Feed) Controller{
	func(kit *work.Kit, from *feed.Feed) Controller {
		c := repair.NewAddresses(kit)
		from.Follow(c, repair.ServiceResource.GroupResource(), repair.AddressResource.GroupResource(), repair.RangeResource.GroupResource())
		return c
	},
	func(kit *work.Kit, from *feed.Feed) Controller {
		c := repair.NewPorts(kit)
		from.Follow(c, repair.ServiceResource.GroupResource(), repair.AllocationResource)
		return c
	},
	func(kit *work.Kit, from *feed.Feed) Controller {
		c := legacytoken.NewTracking(kit)
		from.Follow(c, legacytoken.MapResource.GroupResource())
		return c
	},
}

// Config says which controllers run, and has what they need.
type Config struct {
	work.Kit
	// Elsewhere has the resources of other servers that may have objects in namespaces.
	Elsewhere work.Storages
	// Complete returns an error if there are, or may be, resources that neither has.
	Complete func(context.Context) error
	// Controllers are those of kube-controller-manager that run.
	Controllers Selection
	// InitialObjects has flow schemas, priority levels, APIServices, and what services have, kept; otherwise they are left to clients.
	InitialObjects bool
	// Process is the name of this process. If others may run on the same etcd, the controllers run in the one that holds a Lease.
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
	named map[string]Controller
}

// Status says how a controller does.
type Status struct {
	Name, Does string
	// On is false for one that --controllers turns off. Runs says that it runs in this process.
	On, Runs bool
	// Controller is nil where it does not run.
	Controller Controller
	work.State
}

// Start starts the controllers, and returns when the namespaces that every server has exist. ctx bounds only that.
func Start(ctx context.Context, c Config) *Controllers {
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
	from, other, named := feed.New(c.Etcd, c.Decoder, c.Log), lease.NewOther(c.Decoder, c.Log), map[string]Controller{}
	for _, k := range known {
		if k.make != nil && c.Controllers.Has(k.name) {
			named[k.name] = k.make(&c.Kit, from)
		}
	}
	if namespaces != nil && c.Controllers.Has(Namespace) {
		named[Namespace] = namespaces
	}
	list := slices.Collect(maps.Values(named))
	if c.InitialObjects {
		for _, start := range own {
			list = append(list, start(&c.Kit, from))
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
		if all.term != nil {
			s.Controller = all.term.named[k.name]
		}
		if s.Controller != nil {
			s.Runs, s.State = true, s.Controller.State()
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Holder is the process that holds the Lease of the controllers, and whether it is this one; empty if none is needed, or none is known.
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

// Ready returns an error until the controllers know what there is, or leave the work to the process that holds the Lease. Then it
// returns nil, also while they look again for the Lease or after trouble with etcd.
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
