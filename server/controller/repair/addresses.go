package repair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	// addressesName is the controller's name in a Kubernetes API server.
	addressesName = "ipallocator-repair-controller"

	// workers limits the services and addresses that are worked on at a time, as upstream.
	workers = 5
	// serviceComes is the time that an IPAddress waits for its service: the longest time of a request.
	serviceComes = time.Minute
	// addressGoes is the time that an IPAddress stays after its request failed to create the service.
	addressGoes = 5 * time.Second

	allocation        = "ClusterIPAllocation"
	notAllocated      = "ClusterIPNotAllocated"
	addressAllocation = "IPAddressAllocation"
)

// The resources that the controllers follow.
var (
	ServiceResource = corev1.SchemeGroupVersion.WithResource("services")
	AddressResource = networkingv1.SchemeGroupVersion.WithResource("ipaddresses")
	RangeResource   = networkingv1.SchemeGroupVersion.WithResource("servicecidrs")
)

// key is a service or an address to examine.
type key struct {
	service types.NamespacedName
	ip      netip.Addr
}

// Addresses corrects the allocation of cluster IPs to services. mu guards known and told.
type Addresses struct {
	*work.Loop[key]
	kit       *work.Kit
	log       *slog.Logger
	services  *work.Objects[*corev1.Service]
	addresses *work.Objects[*networkingv1.IPAddress]
	ranges    *work.Objects[*networkingv1.ServiceCIDR]
	recorder  recorder

	// look holds the keys that were put since Begin; nil between looks. Only the feed's goroutine uses it.
	look *index

	mu    sync.Mutex
	known *index
	// told holds the problems of each service that already have an event.
	told map[types.NamespacedName][]trouble
}

// NewAddresses creates the controller. It does nothing until it runs.
func NewAddresses(kit *work.Kit) *Addresses {
	writer := kit.ServerWriter(addressesName)
	c := &Addresses{
		kit: kit, log: kit.Log, recorder: newRecorder(kit, writer),
		services:  work.ObjectsOf[*corev1.Service](kit, writer, ServiceResource),
		addresses: work.ObjectsOf[*networkingv1.IPAddress](kit, writer, AddressResource),
		ranges:    work.ObjectsOf[*networkingv1.ServiceCIDR](kit, writer, RangeResource),
		known:     newIndex(), told: map[types.NamespacedName][]trouble{},
	}
	c.Loop = work.NewLoop(addressesName, workers, kit, c.try)
	return c
}

func (c *Addresses) try(ctx context.Context, k key, cause int64) error {
	if k.ip.IsValid() {
		return c.tryAddress(ctx, k, cause)
	}
	return c.tryService(ctx, k.service, cause)
}

// tryService ensures an IPAddress for each cluster IP of a service, and reports the problems that it can't
// correct.
func (c *Addresses) tryService(ctx context.Context, name types.NamespacedName, cause int64) error {
	svc, found, err := c.services.Get(ctx, name.Namespace, name.Name)
	if err != nil {
		return fmt.Errorf("read the service %s: %w", name, err)
	}
	if !found {
		c.settle(name, nil)
		return nil
	}
	all, err := c.storedRanges(ctx)
	if err != nil {
		return err
	}
	var troubles []trouble
	var errs []error
	for _, text := range clusterIPs(svc) {
		t, err := c.tryIP(ctx, svc, text, all, cause)
		if t != (trouble{}) {
			troubles = append(troubles, t)
		}
		errs = append(errs, err)
	}
	for _, t := range c.settle(name, troubles) {
		errs = append(errs, c.recorder.tell(ctx, aboutService(svc), t, cause))
	}
	return errors.Join(errs...)
}

// settle stores the problems of a service, and returns the new ones.
func (c *Addresses) settle(name types.NamespacedName, now []trouble) (untold []trouble) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range now {
		if !slices.Contains(c.told[name], t) {
			untold = append(untold, t)
		}
	}
	if c.told[name] = now; len(now) == 0 {
		delete(c.told, name)
	}
	return untold
}

func (c *Addresses) storedRanges(ctx context.Context) (ranges, error) {
	list, err := c.ranges.List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list the ranges of cluster IPs: %w", err)
	}
	all := ranges{}
	for _, r := range list {
		all[r.Name] = service.Prefixes(r)
	}
	return all, nil
}

var addressMissing = trace.Because("address-missing",
	"the service has the cluster IP, and there is no IPAddress of it",
	"该 Service 有此集群 IP，但没有对应的 IPAddress")

// tryIP ensures the IPAddress of one cluster IP of a service.
func (c *Addresses) tryIP(ctx context.Context, svc *corev1.Service, text string, all ranges, cause int64) (t trouble, err error) {
	ip, ok := parse(text)
	if !ok {
		return trouble{"ClusterIPNotValid", "ClusterIPValidation", "Cluster IP <nil> is not a valid IP; please recreate Service"}, nil
	}
	family := familyOf(ip)
	if !all.offer(ip) {
		return trouble{"ClusterIPOutOfRange", allocation,
			fmt.Sprintf("Cluster IP [%s]: %s is not within any configured Service CIDR; please recreate service", family, ip)}, nil
	}
	address, found, err := c.addresses.Get(ctx, "", ip.String())
	if err != nil {
		return trouble{"UnknownError", allocation,
				fmt.Sprintf("Unable to allocate ClusterIP [%s]: %s due to an unknown error", family, ip)},
			fmt.Errorf("read the IPAddress %s: %w", ip, err)
	}
	wrong := trouble{notAllocated, allocation,
		fmt.Sprintf("the ClusterIP [%s]: %s for Service %s/%s has a wrong reference; repairing", family, ip, svc.Namespace, svc.Name)}
	switch {
	case !found:
		return trouble{notAllocated, allocation, fmt.Sprintf("Cluster IP [%s]: %s is not allocated; repairing", family, ip)},
			c.give(ctx, svc, ip, work.Decide(cause, addressMissing))
	case !namesService(address):
		return wrong, c.replace(ctx, svc, ip, address, cause)
	}
	if ref := address.Spec.ParentRef; ref.Namespace != svc.Namespace || ref.Name != svc.Name {
		other, found, err := c.services.Get(ctx, ref.Namespace, ref.Name)
		switch {
		case err != nil:
			return trouble{}, fmt.Errorf("read the service %s/%s, which the IPAddress %s names: %w", ref.Namespace, ref.Name, ip, err)
		case !found:
			return wrong, c.replace(ctx, svc, ip, address, cause)
		case has(other, ip):
			t = trouble{"ClusterIPAlreadyAllocated", allocation,
				fmt.Sprintf("Cluster IP [%s]:%s was assigned to multiple services; please recreate service", family, ip)}
		}
	}
	if !labelled(address, ip) {
		return t, c.replace(ctx, svc, ip, address, cause)
	}
	return t, nil
}

// give creates the IPAddress that allocates an address to a service.
func (c *Addresses) give(ctx context.Context, svc *corev1.Service, ip netip.Addr, d work.Decision) error {
	return c.addresses.Create(ctx, service.NewAddress(svc, ip), d)
}

var addressWrong = trace.Because("address-wrong",
	"the service has the cluster IP, and the IPAddress names another owner or lacks labels",
	"该 Service 有此集群 IP，但 IPAddress 指向其他属主或缺少标签")

// replace replaces an incorrect IPAddress of a service. The reference of an IPAddress can't be changed.
func (c *Addresses) replace(ctx context.Context, svc *corev1.Service, ip netip.Addr, address *networkingv1.IPAddress, cause int64) error {
	d := work.Decide(cause, addressWrong)
	if err := c.addresses.Delete(ctx, address, metav1.DeletePropagationBackground, d); err != nil {
		return err
	}
	return c.give(ctx, svc, ip, d)
}

// tryAddress deletes an IPAddress of the allocator whose service does not use it.
func (c *Addresses) tryAddress(ctx context.Context, k key, cause int64) error {
	c.mu.Lock()
	strays, _ := c.known.stray(k.ip)
	c.mu.Unlock()
	if !strays {
		return nil // its service has come meanwhile, or it has gone: nothing needs to be read
	}
	address, found, err := c.addresses.Get(ctx, "", k.ip.String())
	if err != nil {
		return fmt.Errorf("read the IPAddress %s: %w", k.ip, err)
	}
	if !found || !managed(address) {
		return nil
	}
	if !namesService(address) {
		return c.remove(ctx, address, trouble{"IPAddressNotAllocated", addressAllocation,
			fmt.Sprintf("IPAddress %s appears to have been modified, not referencing a Service %v: cleaning up", address.Name,
				address.Spec.ParentRef)}, cause)
	}
	ref := address.Spec.ParentRef
	svc, found, err := c.services.Get(ctx, ref.Namespace, ref.Name)
	if err != nil {
		return fmt.Errorf("read the service %s/%s, which the IPAddress %s names: %w", ref.Namespace, ref.Name, k.ip, err)
	}
	if found && has(svc, k.ip) {
		return nil
	}
	grace, t := addressGoes, trouble{"IPAddressWrongReference", addressAllocation,
		fmt.Sprintf("IPAddress: %s for Service %s/%s has a wrong reference; cleaning up", address.Name, ref.Namespace, ref.Name)}
	switch {
	case !found:
		grace, t = serviceComes, trouble{"IPAddressNotAllocated", addressAllocation,
			fmt.Sprintf("IPAddress: %s for Service %s/%s appears to have leaked: cleaning up", address.Name, ref.Namespace, ref.Name)}
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		grace = serviceComes // it may be about to become another type
	}
	if left := grace - time.Since(address.CreationTimestamp.Time); left > 0 {
		c.AddAfter(k, cause, left)
		return nil
	}
	return c.remove(ctx, address, t, cause)
}

var addressLeaked = trace.Because("address-leaked",
	"the IPAddress was taken for a service, and no service has the address",
	"该 IPAddress 是为某个 Service 占用的，但没有 Service 使用此地址")

func (c *Addresses) remove(ctx context.Context, address *networkingv1.IPAddress, t trouble, cause int64) error {
	return errors.Join(
		c.recorder.tell(ctx, aboutAddress(address), t, cause),
		c.addresses.Delete(ctx, address, metav1.DeletePropagationBackground, work.Decide(cause, addressLeaked)),
	)
}

// clusterIPs returns the addresses of a service, in their written form.
func clusterIPs(svc *corev1.Service) []string {
	switch svc.Spec.ClusterIP {
	case "", corev1.ClusterIPNone:
		return nil
	}
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if len(svc.Spec.ClusterIPs) == 0 {
		return []string{svc.Spec.ClusterIP} // as services were stored before they could have two
	}
	return svc.Spec.ClusterIPs
}

// has reports whether a service has an address.
func has(svc *corev1.Service, ip netip.Addr) bool {
	return slices.ContainsFunc(clusterIPs(svc), func(text string) bool {
		other, ok := parse(text)
		return ok && other == ip
	})
}

// parse parses an address. Old services may have one with leading zeros.
func parse(text string) (netip.Addr, bool) {
	ip, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return ip.Unmap(), ok
}

func familyOf(ip netip.Addr) corev1.IPFamily {
	if ip.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func namesService(address *networkingv1.IPAddress) bool {
	ref := address.Spec.ParentRef
	return ref != nil && ref.Group == "" && ref.Resource == ServiceResource.Resource
}

// managed reports whether the allocator has created an IPAddress.
func managed(address *networkingv1.IPAddress) bool {
	return address.Labels[networkingv1.LabelManagedBy] == service.AllocatorName
}

// labelled reports whether an IPAddress has the allocator's labels.
func labelled(address *networkingv1.IPAddress, ip netip.Addr) bool {
	return managed(address) && address.Labels[networkingv1.LabelIPAddressFamily] == string(familyOf(ip))
}
