package servicecidr

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	// Name is what kube-controller-manager calls the controller, and its field manager.
	Name    = "service-cidr-controller"
	account = "service-cidrs-controller"

	finalizer = "networking.k8s.io/service-cidr-finalizer"
	// workers is how many ranges are looked at at a time, as upstream.
	workers = 5
	// grace is how long other servers may take to see that a range is being deleted.
	grace = 10 * time.Second

	readyText = "Kubernetes Service CIDR is ready"
	inUseText = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)

// Resource and AddressResource are what the controller follows.
var (
	Resource        = networkingv1.SchemeGroupVersion.WithResource("servicecidrs")
	AddressResource = networkingv1.SchemeGroupVersion.WithResource("ipaddresses")
)

// Controller keeps ranges.
type Controller struct {
	kit       *work.Kit
	ranges    *work.Objects[*networkingv1.ServiceCIDR]
	addresses *work.Objects[*networkingv1.IPAddress]
	log       *slog.Logger
	loop      *work.Loop[string]

	// known are the ranges by name, and round counts the looks at all. Only the feed's goroutine uses them.
	known map[string]*known
	round int
}

// known is what is known of a range.
type known struct {
	prefixes []netip.Prefix
	deleted  bool
	// kept says that it has, or had, the finalizer.
	kept  bool
	round int
}

// New makes a controller, which does nothing until it runs.
func New(kit *work.Kit) *Controller {
	writer := kit.Writer(Name, account)
	c := &Controller{
		kit: kit, log: kit.Log, known: map[string]*known{},
		ranges:    work.ObjectsOf[*networkingv1.ServiceCIDR](kit, writer, Resource),
		addresses: work.ObjectsOf[*networkingv1.IPAddress](kit, writer, AddressResource),
	}
	c.loop = work.NewLoop(Name, workers, kit.Metrics, kit.Log, c.try)
	return c
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) { c.loop.Run(ctx) }

// State returns what it is about.
func (c *Controller) State() work.State { return c.loop.State() }

// Begin begins a look at all ranges and addresses.
func (c *Controller) Begin() { c.round++ }

// End forgets the ranges that are gone, and wakes those that are being deleted: addresses may have gone that nobody was told of.
func (c *Controller) End(int64) {
	for name, k := range c.known {
		if k.round != c.round {
			delete(c.known, name)
		} else if k.deleted {
			c.loop.Add(name, 0)
		}
	}
}

// Put has a range looked at, and the ranges that are being deleted and may have waited for this change.
func (c *Controller) Put(p feed.Pair) {
	if name, ok := strings.CutPrefix(p.Key, AddressResource.Resource+"/"); ok {
		if address, err := netip.ParseAddr(name); err == nil && p.Changed {
			c.wake(p.Revision, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
		}
		return
	}
	_, name := p.Name(Resource.GroupResource())
	was := c.known[name]
	if p.Value == nil {
		delete(c.known, name)
		return
	}
	now, err := work.Value[*networkingv1.ServiceCIDR](c.kit, p.Key, p.Value)
	if err != nil {
		c.log.Warn("a range of addresses for services cannot be read: no range goes until it can be, or is gone", "key", p.Key, "error", err)
		if was != nil {
			was.round = c.round // what was known of it stays
		}
		return
	}
	is := &known{prefixes: service.Prefixes(now), deleted: now.DeletionTimestamp != nil, round: c.round}
	is.kept = slices.Contains(now.Finalizers, finalizer) || was != nil && was.kept
	c.known[name] = is
	cause := p.Revision
	if !p.Changed || name == service.DefaultCIDR && !is.kept {
		cause = 0 // a look, or the server that made its own range, and not somebody who asked for it
	}
	c.loop.Add(name, cause)
	c.wake(p.Revision, func(prefix netip.Prefix) bool { return slices.ContainsFunc(is.prefixes, prefix.Overlaps) })
}

// wake wakes the ranges that are being deleted and have such a prefix.
func (c *Controller) wake(cause int64, concerns func(netip.Prefix) bool) {
	for name, k := range c.known {
		if k.deleted && slices.ContainsFunc(k.prefixes, concerns) {
			c.loop.Add(name, cause)
		}
	}
}

// try gives a range what it lacks, or lets it go.
func (c *Controller) try(ctx context.Context, name string, cause int64) error {
	r, found, err := c.ranges.Get(ctx, "", name)
	if err != nil || !found {
		return err
	}
	if r.DeletionTimestamp == nil {
		if !slices.Contains(r.Finalizers, finalizer) {
			err := c.ranges.Update(ctx, r, "", atFirst(cause, trace.ProtectionMissing), func(now *networkingv1.ServiceCIDR) (bool, error) {
				return work.AddFinalizer(now, finalizer), nil
			})
			if err != nil {
				return err
			}
		}
		return c.tell(ctx, r, metav1.ConditionTrue, "", readyText, atFirst(cause, trace.RangeReady))
	}
	if !slices.Contains(r.Finalizers, finalizer) {
		return nil
	}
	used, err := c.used(ctx, r)
	switch {
	case err != nil:
		return err
	case used:
		return c.tell(ctx, r, metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating, inUseText, work.Decide(cause, trace.RangeInUse))
	}
	if left := grace - time.Since(r.DeletionTimestamp.Time); left > 0 {
		c.loop.AddAfter(name, cause, left)
		return nil
	}
	return c.ranges.Update(ctx, r, "", work.Decide(cause, trace.NotInUse), func(now *networkingv1.ServiceCIDR) (bool, error) {
		return work.RemoveFinalizer(now, finalizer), nil
	})
}

// atFirst decides on what a range lacks. Without a cause that is no journey.
func atFirst(cause int64, reason trace.Reason) work.Decision {
	d := work.Decide(cause, reason)
	d.Quiet = cause == 0
	return d
}

// used says whether an address is in a range and in no other one.
func (c *Controller) used(ctx context.Context, r *networkingv1.ServiceCIDR) (bool, error) {
	ranges, err := c.ranges.List(ctx, "")
	if err != nil {
		return false, err
	}
	others := slices.DeleteFunc(ranges, func(other *networkingv1.ServiceCIDR) bool { return other.Name == r.Name })
	inOthers := func(contains func(netip.Prefix) bool) bool {
		return slices.ContainsFunc(others, func(other *networkingv1.ServiceCIDR) bool {
			return slices.ContainsFunc(service.Prefixes(other), contains)
		})
	}
	mine := slices.DeleteFunc(service.Prefixes(r), func(prefix netip.Prefix) bool {
		return inOthers(func(other netip.Prefix) bool { return other.Bits() <= prefix.Bits() && other.Contains(prefix.Addr()) })
	})
	if len(mine) == 0 {
		return false, nil
	}
	addresses, err := c.addresses.List(ctx, "")
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(addresses, func(ip *networkingv1.IPAddress) bool {
		address, err := netip.ParseAddr(ip.Name)
		contains := func(prefix netip.Prefix) bool { return service.Offers(prefix, address) }
		return err == nil && isAllocated(ip, address) && slices.ContainsFunc(service.Prefixes(r), contains) && !inOthers(contains)
	}), nil
}

// isAllocated says whether an address was given to a service.
func isAllocated(ip *networkingv1.IPAddress, address netip.Addr) bool {
	family := corev1.IPv6Protocol
	if address.Is4() {
		family = corev1.IPv4Protocol
	}
	return ip.Labels[networkingv1.LabelManagedBy] == service.AllocatorName && ip.Labels[networkingv1.LabelIPAddressFamily] == string(family)
}

// tell sets the condition Ready, unless it is so.
func (c *Controller) tell(ctx context.Context, r *networkingv1.ServiceCIDR, status metav1.ConditionStatus, reason, message string, d work.Decision) error {
	is := apimeta.FindStatusCondition(r.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	if is != nil && is.Status == status && is.Reason == reason && is.Message == message {
		return nil
	}
	return c.ranges.Apply(ctx, r, "status", d, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": networkingv1.ServiceCIDRConditionReady, "status": string(status), "reason": reason, "message": message,
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}}}})
}
