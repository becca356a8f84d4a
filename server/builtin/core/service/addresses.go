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

// addresses gives services the addresses of ServiceCIDRs, each once. An address is taken by the IPAddress of its name:
// of several servers that take one at once, etcd lets one create it.
type addresses struct {
	// given stores the IPAddresses, ranges the ServiceCIDRs.
	given, ranges store.Interface
	// services lists the stored services.
	services func(context.Context) ([]corev1.Service, error)

	// counting is held during a recount, and guards the time of the last one.
	counting sync.Mutex
	counted  time.Time
	lock     sync.Mutex
	// used are the addresses that this process takes for used. Other servers may use more, and may have released some.
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
	// AllocatorName marks the addresses of this allocator. It is upstream's, so that both know each other's.
	AllocatorName = "ipallocator.k8s.io"
	// abandoned is how old an address without a service must be before it goes: the service of a younger one may be
	// about to come.
	abandoned = time.Minute
)

// addressRange is an IPv4 range. Services do not get its network address and its broadcast address.
type addressRange struct {
	netip.Prefix
	ready bool
}

func (r addressRange) size() int { return 1<<(32-r.Bits()) - 2 }

func (r addressRange) first() uint32 { return ipNumber(r.Masked().Addr()) + 1 }

// static is how many addresses at the beginning are reserved for services that ask for a certain one.
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

// all are the IPv4 ranges that services may have, the default one first: where it is not stored, as the server makes it
// at its start.
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

// Prefixes are those of a ServiceCIDR that can be read.
func Prefixes(cidr *networkingv1.ServiceCIDR) (all []netip.Prefix) {
	for _, text := range cidr.Spec.CIDRs {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}

// Offers says whether a service can have an address of a prefix: any but the first, and the last of IPv4.
func Offers(prefix netip.Prefix, address netip.Addr) bool {
	last := address.Is4() && prefix.Bits() < address.BitLen() && !prefix.Contains(address.Next())
	return prefix.Contains(address) && address != prefix.Masked().Addr() && !last
}

// take gives svc the address that it asks for.
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
	// The service that took it may never have been stored.
	if err := a.count(ctx, time.Now().Add(-abandoned)); err != nil {
		return err
	}
	return a.create(ctx, svc, ip)
}

// tryTake is take in a dry run. As upstream's it does not look whether somebody has the address, and it names one range
// where no range has the address.
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

// next gives svc the first free address: of the part of a range that is not left for those who ask for one, if there is
// one.
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
		// Other servers may have released some.
		if err := a.count(ctx, time.Now()); err != nil {
			return netip.Addr{}, err
		}
		return a.search(ctx, svc, ranges)
	}
	return ip, err
}

// tryNext is next in a dry run. As upstream's it shows an address that no service can have.
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

// reserve keeps other requests from trying an address.
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

// create writes the IPAddress by which svc has an address.
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

// addressFields are the fields of every IPAddress that is made here, as its manager.
const addressFields = `{"f:metadata":{"f:labels":{".":{},` +
	`"f:ipaddress.kubernetes.io/ip-family":{},"f:ipaddress.kubernetes.io/managed-by":{}}},` +
	`"f:spec":{"f:parentRef":{".":{},"f:name":{},"f:namespace":{},"f:resource":{}}}}`

// NewAddress is the IPAddress as upstream's client would have created it.
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
				APIVersion: networkingv1.SchemeGroupVersion.String(), Time: &now, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(addressFields),
			}},
		},
		Spec: networkingv1.IPAddressSpec{
			ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: svc.Namespace, Name: svc.Name},
		},
	}
}

// release deletes the IPAddresses of svc. An IPAddress that names another object stays.
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

// remove deletes an IPAddress if its present state in etcd may go.
func (a *addresses) remove(ctx context.Context, ip netip.Addr, may func(*networkingv1.IPAddress) bool) error {
	err := a.given.Delete(ctx, addressPrefix+"/"+ip.String(), &networkingv1.IPAddress{}, nil,
		func(_ context.Context, obj runtime.Object) error {
			if !may(obj.(*networkingv1.IPAddress)) {
				return errGiven
			}
			return nil
		}, nil, store.DeleteOptions{})
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

// count calls recount, unless another request has done so meanwhile.
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

// recount finds the used addresses. A service without an IPAddress gets one, since older servers wrote none, and
// an IPAddress whose service never came is deleted.
func (a *addresses) recount(ctx context.Context) error {
	// The addresses first: the service of one that is old by now, and whose service is not there afterwards, does not
	// come.
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
			// Another server may have given the address again since it was read: then it is young.
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

// mayGo says whether an address was taken so long ago that its service would be there by now.
func mayGo(address *networkingv1.IPAddress) bool {
	ref := address.Spec.ParentRef
	return ref != nil && ref.Group == "" && ref.Resource == "services" && address.Labels[networkingv1.LabelManagedBy] == AllocatorName &&
		time.Since(address.CreationTimestamp.Time) > abandoned
}
