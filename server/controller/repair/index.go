package repair

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/builtin/core/service"
)

// index holds the allocations of addresses, in as much detail as detecting problems needs.
type index struct {
	services  map[types.NamespacedName]holder
	holders   map[netip.Addr][]types.NamespacedName
	addresses map[netip.Addr]addressObject
	ranges    ranges
}

// holder is a service with cluster IPs.
type holder struct {
	ips []netip.Addr
	// invalid means that one of them is no address.
	invalid bool
}

func holderOf(svc *corev1.Service) (h holder) {
	for _, text := range clusterIPs(svc) {
		ip, ok := parse(text)
		if !ok {
			h.invalid = true
			continue
		}
		h.ips = append(h.ips, ip)
	}
	return h
}

// addressObject is an IPAddress.
type addressObject struct {
	// to is the service that it names, if any.
	to                types.NamespacedName
	managed, labelled bool
	created           time.Time
}

func givenOf(address *networkingv1.IPAddress, ip netip.Addr) addressObject {
	g := addressObject{managed: managed(address), labelled: labelled(address, ip), created: address.CreationTimestamp.Time}
	if namesService(address) {
		g.to = types.NamespacedName{Namespace: address.Spec.ParentRef.Namespace, Name: address.Spec.ParentRef.Name}
	}
	return g
}

// ranges maps the names of ServiceCIDRs to their prefixes.
type ranges map[string][]netip.Prefix

// offer reports whether a service may have an address. The default range exists even if it is not stored.
func (r ranges) offer(ip netip.Addr) bool {
	if _, stored := r[service.DefaultCIDR]; !stored && service.Offers(defaultRange, ip) {
		return true
	}
	for _, prefixes := range r {
		if slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return service.Offers(p, ip) }) {
			return true
		}
	}
	return false
}

var defaultRange = netip.MustParsePrefix(service.DefaultIPs)

func newIndex() *index {
	return &index{
		services: map[types.NamespacedName]holder{}, holders: map[netip.Addr][]types.NamespacedName{},
		addresses: map[netip.Addr]addressObject{}, ranges: ranges{},
	}
}

// put stores the addresses of a service, and returns the previous ones.
func (i *index) put(name types.NamespacedName, now holder) (was holder) {
	was = i.services[name]
	for _, ip := range was.ips {
		i.holders[ip] = slices.DeleteFunc(i.holders[ip], func(other types.NamespacedName) bool { return other == name })
		if len(i.holders[ip]) == 0 {
			delete(i.holders, ip)
		}
	}
	if delete(i.services, name); len(now.ips) > 0 || now.invalid {
		i.services[name] = now
	}
	for _, ip := range now.ips {
		i.holders[ip] = append(i.holders[ip], name)
	}
	return was
}

// wrong reports whether a service has a problem to correct or to report.
func (i *index) wrong(name types.NamespacedName) bool {
	h := i.services[name]
	return h.invalid || slices.ContainsFunc(h.ips, func(ip netip.Addr) bool {
		g, found := i.addresses[ip]
		return !found || g.to != name || !g.labelled || !i.ranges.offer(ip)
	})
}

// stray reports whether an IPAddress of the allocator lacks its service.
func (i *index) stray(ip netip.Addr) (bool, addressObject) {
	g, found := i.addresses[ip]
	return found && g.managed && !slices.Contains(i.holders[ip], g.to), g
}
