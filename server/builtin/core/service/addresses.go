package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kx-apiserver/kx/store"
)

// addresses allocates addresses of ServiceCIDRs to services, each address once. The IPAddress of an address's name
// marks it as taken: if several servers take one at once, etcd lets only one create the IPAddress. counting guards
// counted; lock guards used.
type addresses struct {
	// given stores the IPAddresses, ranges the ServiceCIDRs.
	given, ranges store.Interface
	// services lists the stored services.
	services func(context.Context) ([]corev1.Service, error)

	// counting is held during a recount. counted is the time when the last recount began.
	counting sync.Mutex
	counted  time.Time
	lock     sync.Mutex
	// used holds the addresses that are in use as far as this process knows. Other servers may have taken or released
	// some since the last recount.
	used map[netip.Addr]bool
}

var (
	errFull     = errors.New("range is full")
	errGiven    = errors.New("provided IP is already allocated")
	errOutside  = errors.New("the provided network does not match the current range")
	errNotReady = errors.New("allocator not ready")
)

const (
	addressPrefix = "/ipaddresses"
	rangePrefix   = "/servicecidrs"
	// AllocatorName marks the addresses of this allocator. It equals upstream's name, so that each recognises the
	// other's addresses.
	AllocatorName = "ipallocator.k8s.io"
	// abandoned is the age at which an address without a service is deleted. For a younger one the service may not be
	// stored yet.
	abandoned = time.Minute
)

// addressRange is an IPv4 range. Services never get its network address or its broadcast address.
type addressRange struct {
	netip.Prefix
	ready bool
}

func (r addressRange) size() int { return 1<<(32-r.Bits()) - 2 }

func (r addressRange) first() uint32 { return ipNumber(r.Masked().Addr()) + 1 }

// static returns the number of addresses, from the first, that are reserved for services that request a specific
// address.
func (r addressRange) static() int { return clamp(r.size()/16, 16, 256, r.size()) }

func (r addressRange) has(ip netip.Addr) bool {
	if !r.Contains(ip) {
		return false
	}
	n := ipNumber(ip)
	return n >= r.first() && n < r.first()+uint32(r.size())
}

func ipNumber(ip netip.Addr) uint32 {
	b := ip.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func numberIP(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// all returns the IPv4 ranges for services, the default range first. If the default is not stored, its value is the
// one that a server creates at its start.
func (a *addresses) all(ctx context.Context) ([]addressRange, error) {
	var list networkingv1.ServiceCIDRList
	if err := a.ranges.GetList(ctx, rangePrefix, store.ListOptions{Predicate: store.Everything, Recursive: true}, &list); err != nil {
		return nil, fmt.Errorf("list the ranges of cluster IPs: %w", err)
	}
	first, rest := []addressRange{{netip.MustParsePrefix(DefaultIPs), true}}, []addressRange(nil)
	for i := range list.Items {
		if cidr := &list.Items[i]; cidr.Name == DefaultCIDR {
			first = rangesOf(cidr)
		} else {
			rest = append(rest, rangesOf(cidr)...)
		}
	}
	return append(first, rest...), nil
}

func rangesOf(cidr *networkingv1.ServiceCIDR) (ranges []addressRange) {
	// A range without the condition is ready: there may be no controller that sets it.
	ready := cidr.DeletionTimestamp == nil &&
		!apimeta.IsStatusConditionFalse(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	for _, p := range Prefixes(cidr) {
		if p.Addr().Is4() && p.Bits() <= 30 {
			ranges = append(ranges, addressRange{p, ready})
		}
	}
	return ranges
}

// Prefixes returns the prefixes of a ServiceCIDR. It skips invalid ones.
func Prefixes(cidr *networkingv1.ServiceCIDR) (all []netip.Prefix) {
	for _, text := range cidr.Spec.CIDRs {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}

// Offers reports whether a service can get an address of a prefix: any but the first, and for IPv4 any but the last.
func Offers(prefix netip.Prefix, address netip.Addr) bool {
	last := address.Is4() && prefix.Bits() < address.BitLen() && !prefix.Contains(address.Next())
	return prefix.Contains(address) && address != prefix.Masked().Addr() && !last
}

// take allocates the address that svc requests.
func (a *addresses) take(ctx context.Context, svc *corev1.Service, ip netip.Addr) error {
	if err := a.count(ctx, time.Time{}); err != nil {
		return err
	}
	ranges, err := a.all(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(ranges, func(r addressRange) bool { return r.ready && r.has(ip) }) {
		return errOutside
	}
	if err := a.create(ctx, svc, ip); !errors.Is(err, errGiven) {
		return err
	}
	// The service that took the address may never have been stored: a recount then frees it.
	if err := a.count(ctx, time.Now().Add(-abandoned)); err != nil {
		return err
	}
	return a.create(ctx, svc, ip)
}

// tryTake is take in a dry run. Like upstream's, it does not check whether the address is free. If no range has the
// address, the error names only the first range.
func (a *addresses) tryTake(ctx context.Context, ip netip.Addr) error {
	ranges, err := a.all(ctx)
	if err != nil {
		return err
	}
	if len(ranges) == 0 {
		return errNotReady
	}
	for _, r := range ranges {
		if r.ready && r.has(ip) {
			return nil
		}
	}
	return fmt.Errorf("the provided IP (%v) is not in the valid range. The range of valid IPs is %s", ip, ranges[0].Masked())
}

// next allocates the first free address to svc. In each range it tries the part that is reserved for specific
// requests last.
func (a *addresses) next(ctx context.Context, svc *corev1.Service) (netip.Addr, error) {
	if err := a.count(ctx, time.Time{}); err != nil {
		return netip.Addr{}, err
	}
	ranges, err := a.all(ctx)
	if err != nil {
		return netip.Addr{}, err
	}
	ip, err := a.search(ctx, svc, ranges)
	if errors.Is(err, errFull) {
		// Other servers may have released addresses.
		if err := a.count(ctx, time.Now()); err != nil {
			return netip.Addr{}, err
		}
		return a.search(ctx, svc, ranges)
	}
	return ip, err
}

// tryNext is next in a dry run. Like upstream's, it returns the network address, which no service can get.
func (a *addresses) tryNext(ctx context.Context) (netip.Addr, error) {
	ranges, err := a.all(ctx)
	if err != nil {
		return netip.Addr{}, err
	}
	if len(ranges) == 0 || !ranges[0].ready {
		return netip.Addr{}, errNotReady
	}
	return ranges[0].Masked().Addr(), nil
}

func (a *addresses) search(ctx context.Context, svc *corev1.Service, ranges []addressRange) (netip.Addr, error) {
	for _, r := range ranges {
		if !r.ready {
			continue
		}
		for i := range r.size() {
			ip := numberIP(r.first() + uint32((i+r.static())%r.size()))
			if !a.reserve(ip) {
				continue
			}
			if err := a.create(ctx, svc, ip); !errors.Is(err, errGiven) {
				return ip, err
			}
		}
	}
	return netip.Addr{}, errFull
}

// reserve marks an address as used, so that other requests do not try it. It returns false if it is used already.
func (a *addresses) reserve(ip netip.Addr) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.used[ip] {
		return false
	}
	a.used[ip] = true
	return true
}

func (a *addresses) forget(ip netip.Addr) {
	a.lock.Lock()
	defer a.lock.Unlock()
	delete(a.used, ip)
}

// create writes the IPAddress that allocates ip to svc.
func (a *addresses) create(ctx context.Context, svc *corev1.Service, ip netip.Addr) error {
	err := a.given.Create(ctx, addressPrefix+"/"+ip.String(), NewAddress(svc, ip), &networkingv1.IPAddress{}, 0)
	if err != nil && !store.IsExist(err) {
		a.forget(ip)
		return fmt.Errorf("create the IPAddress %s: %w", ip, err)
	}
	a.reserve(ip)
	if err != nil {
		return errGiven
	}
	return nil
}

// addressFields is the managedFields entry of every IPAddress that this package creates.
const addressFields = `{"f:metadata":{"f:labels":{".":{},` +
	`"f:ipaddress.kubernetes.io/ip-family":{},"f:ipaddress.kubernetes.io/managed-by":{}}},` +
	`"f:spec":{"f:parentRef":{".":{},"f:name":{},"f:namespace":{},"f:resource":{}}}}`

// NewAddress makes the same IPAddress that upstream's client would create.
func NewAddress(svc *corev1.Service, ip netip.Addr) *networkingv1.IPAddress {
	now := metav1.Now().Rfc3339Copy()
	family := corev1.IPv4Protocol
	if ip.Is6() {
		family = corev1.IPv6Protocol
	}
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name: ip.String(), UID: uuid.NewUUID(), CreationTimestamp: now,
			Labels: map[string]string{networkingv1.LabelIPAddressFamily: string(family), networkingv1.LabelManagedBy: AllocatorName},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "kube-apiserver", Operation: metav1.ManagedFieldsOperationUpdate,
				APIVersion: networkingv1.SchemeGroupVersion.String(), Time: &now, FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(addressFields),
			}},
		},
		Spec: networkingv1.IPAddressSpec{
			ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: svc.Namespace, Name: svc.Name},
		},
	}
}

// release deletes the IPAddresses of svc. It keeps an IPAddress that names another object.
func (a *addresses) release(ctx context.Context, service apitypes.NamespacedName, ips []netip.Addr) error {
	own := func(address *networkingv1.IPAddress) bool {
		ref := address.Spec.ParentRef
		return ref == nil || parent(ref) == service
	}
	var errs []error
	for _, ip := range ips {
		errs = append(errs, a.remove(ctx, ip, own))
	}
	return errors.Join(errs...)
}

// remove deletes an IPAddress if may accepts its current state in etcd.
func (a *addresses) remove(ctx context.Context, ip netip.Addr, may func(*networkingv1.IPAddress) bool) error {
	err := a.given.Delete(ctx, addressPrefix+"/"+ip.String(), &networkingv1.IPAddress{},
		func(_ context.Context, obj runtime.Object) error {
			if !may(obj.(*networkingv1.IPAddress)) {
				return errGiven
			}
			return nil
		}, store.DeleteOptions{})
	switch {
	case err == nil, store.IsNotFound(err):
		a.forget(ip)
		return nil
	case errors.Is(err, errGiven):
		return nil
	}
	return fmt.Errorf("delete the IPAddress %s: %w", ip, err)
}

func parent(ref *networkingv1.ParentReference) apitypes.NamespacedName {
	return apitypes.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// count calls recount, unless one has begun after since.
func (a *addresses) count(ctx context.Context, since time.Time) error {
	a.counting.Lock()
	defer a.counting.Unlock()
	if a.counted.After(since) {
		return nil
	}
	began := time.Now()
	if err := a.recount(ctx); err != nil {
		return err
	}
	a.counted = began
	return nil
}

// recount finds the used addresses. It creates missing IPAddresses of services, since older servers wrote none, and
// deletes IPAddresses whose service was never stored.
func (a *addresses) recount(ctx context.Context) error {
	// The list of addresses has to come first: if the service of an old address is missing in the later list, it will
	// not come.
	var list networkingv1.IPAddressList
	if err := a.given.GetList(ctx, addressPrefix, store.ListOptions{Predicate: store.Everything, Recursive: true}, &list); err != nil {
		return fmt.Errorf("list the cluster IPs in use: %w", err)
	}
	services, err := a.services(ctx)
	if err != nil {
		return fmt.Errorf("list the services that have cluster IPs: %w", err)
	}
	owned := map[netip.Addr]*corev1.Service{}
	for i := range services {
		for _, ip := range clusterIPs(&services[i]) {
			owned[ip] = &services[i]
		}
	}
	used := map[netip.Addr]bool{}
	for i := range list.Items {
		address := &list.Items[i]
		ip, err := netip.ParseAddr(address.Name)
		if err != nil {
			continue
		}
		if owned[ip] == nil && mayGo(address) {
			// Another server may have allocated the address again since the list: then it is young, and mayGo
			// refuses.
			if err := a.remove(ctx, ip, mayGo); err != nil {
				return err
			}
			continue
		}
		used[ip] = true
	}
	for ip, svc := range owned {
		if used[ip] {
			continue
		}
		if err := a.create(ctx, svc, ip); err != nil && !errors.Is(err, errGiven) {
			return err
		}
		used[ip] = true
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	a.used = used
	return nil
}

// mayGo reports whether a service's address is so old that the service would be stored by now.
func mayGo(address *networkingv1.IPAddress) bool {
	ref := address.Spec.ParentRef
	return ref != nil && ref.Group == "" && ref.Resource == "services" && address.Labels[networkingv1.LabelManagedBy] == AllocatorName &&
		time.Since(address.CreationTimestamp.Time) > abandoned
}
