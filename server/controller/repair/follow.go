package repair

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/backend"
)

var (
	addressesPrefix = backend.ResourcePrefix(AddressResource.GroupResource()) + "/"
	rangesPrefix    = backend.ResourcePrefix(RangeResource.GroupResource()) + "/"
)

// Begin begins a look at all keys.
func (c *Addresses) Begin() { c.look = newIndex() }

// End queues everything that needs repair. A known key that was not put is gone.
func (c *Addresses) End(int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.look = c.look, nil
	c.queueServices(maps.Keys(c.known.services), 0)
	c.queueServices(maps.Keys(c.told), 0)
	for ip := range c.known.addresses {
		c.queueStray(ip, 0)
	}
}

// Put takes the value of a key at a revision.
func (c *Addresses) Put(p feed.Pair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.known
	if c.look != nil {
		is = c.look
	}
	if text, ok := strings.CutPrefix(p.Key, addressesPrefix); ok {
		c.putAddress(is, p, text)
	} else if name, ok := strings.CutPrefix(p.Key, rangesPrefix); ok {
		c.putRange(is, p, name)
	} else {
		c.putService(is, p)
	}
}

func (c *Addresses) putService(is *index, p feed.Pair) {
	namespace, name := p.Name(ServiceResource.GroupResource())
	k := types.NamespacedName{Namespace: namespace, Name: name}
	var now holder
	if p.Value != nil {
		svc, err := work.Value[*corev1.Service](c.kit, p.Key, p.Value)
		if err != nil {
			c.log.Warn("a service cannot be read: its addresses stay as they are", "key", p.Key, "error", err)
			is.put(k, c.known.services[k])
			return
		}
		now = holderOf(svc)
	}
	was := is.put(k, now)
	if !p.Changed {
		return
	}
	c.queueServices(slices.Values([]types.NamespacedName{k}), p.Revision)
	for _, ip := range was.ips {
		// The request that deletes a service, or changes its type, releases its addresses next. A killed
		// process does not.
		if strays, _ := is.stray(ip); strays {
			c.AddAfter(key{ip: ip}, p.Revision, serviceComes)
		}
	}
}

func (c *Addresses) putAddress(is *index, p feed.Pair, text string) {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return // no service can have it
	}
	delete(is.addresses, ip)
	if p.Value != nil {
		address, err := work.Value[*networkingv1.IPAddress](c.kit, p.Key, p.Value)
		if err != nil {
			c.log.Warn("an IPAddress cannot be read: the service that has it cannot be looked at", "key", p.Key, "error", err)
			return
		}
		is.addresses[ip] = givenOf(address, ip)
	}
	if p.Changed {
		c.queueServices(slices.Values(is.holders[ip]), p.Revision)
		c.queueStray(ip, p.Revision)
	}
}

func (c *Addresses) putRange(is *index, p feed.Pair, name string) {
	delete(is.ranges, name)
	if p.Value != nil {
		r, err := work.Value[*networkingv1.ServiceCIDR](c.kit, p.Key, p.Value)
		if err != nil {
			c.log.Warn("a range of addresses for services cannot be read: services that have addresses of it cannot be looked at", "key",
				p.Key, "error", err)
			return
		}
		is.ranges[name] = service.Prefixes(r)
	}
	if p.Changed {
		c.queueServices(maps.Keys(is.services), p.Revision)
		c.queueServices(maps.Keys(c.told), p.Revision)
	}
}

// queueServices queues the services among names that have, or had, problems.
func (c *Addresses) queueServices(names func(func(types.NamespacedName) bool), cause int64) {
	for name := range names {
		if len(c.told[name]) > 0 || c.known.wrong(name) {
			c.Add(key{service: name}, cause)
		}
	}
}

// queueStray queues an IPAddress without its service, for the time when it may be deleted.
func (c *Addresses) queueStray(ip netip.Addr, cause int64) {
	strays, g := c.known.stray(ip)
	if !strays {
		return
	}
	grace := serviceComes
	if _, found := c.known.services[g.to]; found {
		grace = addressGoes
	} else if g.to.Name == "" {
		grace = 0
	}
	c.AddAfter(key{ip: ip}, cause, max(0, grace-time.Since(g.created)))
}
