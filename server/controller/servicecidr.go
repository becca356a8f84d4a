package controller

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// serviceCIDRProtection keeps ranges of service addresses while their addresses are in use: each range has a
// finalizer and the condition Ready. The finalizer is removed when the range is being deleted and each of its
// addresses is also in another range.
//
// The known state only selects the ranges to wake: a range is judged by the ranges and addresses that exist at
// that moment, and stays if they can't be read. It stays for a grace period after its deletion, so that every
// server has seen that no more addresses come from it.
var serviceCIDRProtection = controller{
	name: "service-cidr-controller", does: "keep ranges of service addresses in use", account: "service-cidrs-controller",
	follows: []schema.GroupVersionResource{serviceCIDRs, addresses}, workers: 5, make: protectServiceCIDRs,
}

var (
	serviceCIDRs = networkingv1.SchemeGroupVersion.WithResource("servicecidrs")
	addresses    = networkingv1.SchemeGroupVersion.WithResource("ipaddresses")
)

const (
	rangeFinalizer = "networking.k8s.io/service-cidr-finalizer"
	// rangeGrace is the time within which other servers see that a range is being deleted.
	rangeGrace = 10 * time.Second

	rangeReadyText = "Kubernetes Service CIDR is ready"
	rangeInUseText = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)

// rangeProtector keeps ranges whose addresses are in use, and writes their condition.
type rangeProtector struct {
	*work.Loop[string]
	kit       *work.Kit
	ranges    *work.Objects[*networkingv1.ServiceCIDR]
	addresses *work.Objects[*networkingv1.IPAddress]

	// known holds the ranges by name, and round counts the looks at all keys. Only the feed's goroutine uses
	// them.
	known map[string]*knownRange
	round int
}

// knownRange holds the parts of a range that decide about wake-ups.
type knownRange struct {
	prefixes []netip.Prefix
	deleted  bool
	// kept means that it has, or had, the finalizer.
	kept  bool
	round int
}

func protectServiceCIDRs(kit *work.Kit, self controller) follower {
	writer := self.writer(kit)
	c := &rangeProtector{
		kit: kit, known: map[string]*knownRange{}, ranges: work.ObjectsOf[*networkingv1.ServiceCIDR](kit, writer, serviceCIDRs),
		addresses: work.ObjectsOf[*networkingv1.IPAddress](kit, writer, addresses),
	}
	c.Loop = loopOf(kit, self, c.try)
	return c
}

// Begin begins a look at all ranges and addresses.
func (c *rangeProtector) Begin() { c.round++ }

// End forgets the ranges that are gone, and wakes those that are being deleted: the feed may have missed the
// end of addresses.
func (c *rangeProtector) End(int64) {
	for name, k := range c.known {
		if k.round != c.round {
			delete(c.known, name)
		} else if k.deleted {
			c.Add(name, 0)
		}
	}
}

// Put queues a range, and the ranges that are being deleted and may have waited for this change.
func (c *rangeProtector) Put(p feed.Pair) {
	if name, ok := strings.CutPrefix(p.Key, addresses.Resource+"/"); ok {
		if address, err := netip.ParseAddr(name); err == nil && p.Changed {
			c.wake(p.Revision, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
		}
		return
	}
	_, name := p.Name(serviceCIDRs.GroupResource())
	was := c.known[name]
	if p.Value == nil {
		delete(c.known, name)
		return
	}
	now, err := work.Value[*networkingv1.ServiceCIDR](c.kit, p.Key, p.Value)
	if err != nil {
		c.kit.Log.Warn("a range of addresses for services cannot be read: no range goes until it can be, or is gone", "key", p.Key,
			"error", err)
		if was != nil {
			was.round = c.round // the known state stays
		}
		return
	}
	is := &knownRange{prefixes: service.Prefixes(now), deleted: now.DeletionTimestamp != nil, round: c.round}
	is.kept = slices.Contains(now.Finalizers, rangeFinalizer) || was != nil && was.kept
	c.known[name] = is
	cause := p.Revision
	if !p.Changed || name == service.DefaultCIDR && !is.kept {
		cause = 0 // a look, or the server created its own range: no client caused it
	}
	c.Add(name, cause)
	c.wake(p.Revision, func(prefix netip.Prefix) bool { return slices.ContainsFunc(is.prefixes, prefix.Overlaps) })
}

// wake queues the ranges that are being deleted and have such a prefix.
func (c *rangeProtector) wake(cause int64, concerns func(netip.Prefix) bool) {
	for name, k := range c.known {
		if k.deleted && slices.ContainsFunc(k.prefixes, concerns) {
			c.Add(name, cause)
		}
	}
}

var (
	rangeReady = trace.Because("range-ready", "the range of addresses can be used", "该地址段可以使用")
	rangeInUse = trace.Because("range-in-use",
		"the range is being deleted, and addresses that no other range has are in use",
		"该地址段正在删除，但其中仍有其他地址段不包含的地址在使用")
)

// try adds the finalizer and the condition to a range, or removes the finalizer.
func (c *rangeProtector) try(ctx context.Context, name string, cause int64) error {
	r, found, err := c.ranges.Get(ctx, "", name)
	if err != nil || !found {
		return err
	}
	if r.DeletionTimestamp == nil {
		if !slices.Contains(r.Finalizers, rangeFinalizer) {
			err := c.ranges.Update(ctx, r, "", rangeDecision(cause, protectionMissing),
				func(now *networkingv1.ServiceCIDR) (bool, error) {
					return work.AddFinalizer(now, rangeFinalizer), nil
				})
			if err != nil {
				return err
			}
		}
		return c.tell(ctx, r, metav1.ConditionTrue, "", rangeReadyText, rangeDecision(cause, rangeReady))
	}
	if !slices.Contains(r.Finalizers, rangeFinalizer) {
		return nil
	}
	used, err := c.used(ctx, r)
	switch {
	case err != nil:
		return err
	case used:
		return c.tell(ctx, r, metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating, rangeInUseText,
			work.Decide(cause, rangeInUse))
	}
	if left := rangeGrace - time.Since(r.DeletionTimestamp.Time); left > 0 {
		return work.After(left)
	}
	return c.ranges.Update(ctx, r, "", work.Decide(cause, notInUse), func(now *networkingv1.ServiceCIDR) (bool, error) {
		return work.RemoveFinalizer(now, rangeFinalizer), nil
	})
}

// rangeDecision returns the decision for a write. Without a cause, it records no journey.
func rangeDecision(cause int64, reason trace.Reason) work.Decision {
	d := work.Decide(cause, reason)
	d.Quiet = cause == 0
	return d
}

// used reports whether an address is in this range and in no other one.
func (c *rangeProtector) used(ctx context.Context, r *networkingv1.ServiceCIDR) (bool, error) {
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
		return err == nil && isAllocatedAddress(ip, address) && slices.ContainsFunc(service.Prefixes(r), contains) && !inOthers(contains)
	}), nil
}

// isAllocatedAddress reports whether an address was allocated to a service.
func isAllocatedAddress(ip *networkingv1.IPAddress, address netip.Addr) bool {
	family := corev1.IPv6Protocol
	if address.Is4() {
		family = corev1.IPv4Protocol
	}
	return ip.Labels[networkingv1.LabelManagedBy] == service.AllocatorName && ip.Labels[networkingv1.LabelIPAddressFamily] == string(family)
}

// tell sets the condition Ready, unless it is already set.
func (c *rangeProtector) tell(ctx context.Context, r *networkingv1.ServiceCIDR, status metav1.ConditionStatus, reason, message string,
	d work.Decision) error {
	is := apimeta.FindStatusCondition(r.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	if is != nil && is.Status == status && is.Reason == reason && is.Message == message {
		return nil
	}
	return c.ranges.Apply(ctx, r, "status", d, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": networkingv1.ServiceCIDRConditionReady, "status": string(status), "reason": reason, "message": message,
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}}}})
}
