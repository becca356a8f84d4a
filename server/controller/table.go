package controller

import (
	"cmp"
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/garbage"
	"github.com/kx-apiserver/kx/server/controller/repair"
	"github.com/kx-apiserver/kx/server/controller/resourcequota"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/backend"
)

// controller describes a controller: its names, the resources that it follows, and how to create it.
//
// It is known before a server exists. All state of a controller is in the value that make returns: this process
// may run the controllers several times, each time from the beginning.
type controller struct {
	name string
	// short (optional) is kube-controller-manager's other name for it.
	short string
	does  string
	// account is the service account for its writes. Without one it writes as the server itself.
	account string
	// manager (optional) is the field manager of its writes, instead of the name.
	manager string
	// follows lists the resources that the feed puts; empty means all.
	follows []schema.GroupVersionResource
	// workers limits the keys that are worked on at a time.
	workers int
	// make creates the runner of one term. It is nil for the controller of namespaces, which [Start] creates
	// before all others.
	make func(*work.Kit, controller) follower
}

// runner is a controller in one term.
type runner interface {
	// Run works until ctx ends.
	Run(ctx context.Context)
	State() work.State
}

// follower is a runner that the feed calls. Most embed a [work.Loop], which has Run and State.
type follower interface {
	runner
	feed.Follower
}

// adapt adapts a controller that knows its name and its workers by itself.
func adapt[F follower](make func(*work.Kit) F) func(*work.Kit, controller) follower {
	return func(kit *work.Kit, _ controller) follower { return make(kit) }
}

// start creates a controller, and registers it with the feed.
func (c controller) start(kit *work.Kit, from *feed.Feed) follower {
	made := c.make(kit, c)
	var resources []schema.GroupResource
	for _, r := range c.follows {
		resources = append(resources, r.GroupResource())
	}
	from.Follow(made, resources...)
	return made
}

// writer returns the writer of a controller.
func (c controller) writer(kit *work.Kit) *work.Writer {
	if c.account == "" {
		return kit.ServerWriter(c.name)
	}
	return kit.Writer(cmp.Or(c.manager, c.name), c.account)
}

// loopOf creates the loop of a controller. It is no method because methods have no type parameters.
func loopOf[K comparable](kit *work.Kit, c controller, try func(ctx context.Context, key K, cause int64) error) *work.Loop[K] {
	return work.NewLoop(c.name, c.workers, kit, try)
}

// each creates a controller that calls try for each object of the resource that it follows: the existing ones
// at first, then each that changes.
func each[T builtin.Object](
	try func(ctx context.Context, all *work.Objects[T], obj T, cause int64) error,
) func(*work.Kit, controller) follower {
	return func(kit *work.Kit, c controller) follower {
		all := work.ObjectsOf[T](kit, c.writer(kit), c.follows[0])
		return &objects{try: try, prefix: backend.ResourcePrefix(c.follows[0].GroupResource()) + "/",
			Loop: loopOf(kit, c, func(ctx context.Context, key string, cause int64) error {
				namespace, name, ok := strings.Cut(key, "/")
				if !ok {
					namespace, name = "", key
				}
				obj, found, err := all.Get(ctx, namespace, name)
				if err != nil || !found {
					return err
				}
				return try(ctx, all, obj, cause)
			})}
	}
}

// objects adds each key of a resource to a loop.
type objects struct {
	*work.Loop[string]
	prefix string
	// try is the function passed to [each], for showing the source.
	try any
}

func (o *objects) Begin()    {}
func (o *objects) End(int64) {}

func (o *objects) Put(p feed.Pair) {
	if p.Value != nil {
		o.Add(strings.TrimPrefix(p.Key, o.prefix), p.Revision)
	}
}

// source returns the function that does the work of a controller, or the runner itself.
func source(r runner) any {
	if all, ok := r.(*objects); ok {
		return all.try
	}
	return r
}

// Names of kube-controller-manager's controllers.
const (
	Garbage         = "garbage-collector-controller"
	Namespace       = "namespace-controller"
	RootCA          = "root-ca-cert-publisher-controller"
	ServiceAccounts = "serviceaccount-controller"
	Quota           = "resourcequota-controller"
)

// known lists the controllers of kube-controller-manager that kx has.
var known = []controller{
	{name: Garbage, short: "garbagecollector", does: "delete objects whose owners are gone", make: adapt(garbage.New)},
	{name: Namespace, short: "namespace", does: "empty deleted namespaces"},
	certificateSigning,
	certificateCleaning,
	clusterRoleAggregation,
	claimProtection,
	volumeProtection,
	serviceCIDRProtection,
	finishedJobs,
	{name: Quota, short: "resourcequota", does: "count what is used of quotas", make: adapt(resourcequota.New)},
	rootCA,
	serviceAccounts,
	tokenSecrets,
	legacyTokenCleaning,
	policyStatus,
}

// own lists a Kubernetes API server's own controllers, which run whenever it creates initial objects.
var own = []controller{
	{follows: []schema.GroupVersionResource{repair.ServiceResource, repair.AddressResource, repair.RangeResource},
		make: adapt(repair.NewAddresses)},
	{follows: []schema.GroupVersionResource{repair.ServiceResource, repair.AllocationResource}, make: adapt(repair.NewPorts)},
	legacyTokenTracking,
}

// The resources that more than one controller follows.
var (
	namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")
	pods       = corev1.SchemeGroupVersion.WithResource("pods")
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	secrets    = corev1.SchemeGroupVersion.WithResource("secrets")
	accounts   = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
)
