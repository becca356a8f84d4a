//lint:file-ignore SA1019 clients read Endpoints, deprecated as they are

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/store"
)

const (
	// LeasesPrefix is the key prefix of the leases, below the common prefix.
	LeasesPrefix = "/masterleases"

	endpoints      = "/api/v1/namespaces/default/endpoints"
	endpointSlices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
)

// reconcile renews this server's lease, and makes the addresses with a lease the endpoints of the service.
func (t *Tasks) reconcile(ctx context.Context, goOn func()) error {
	if !t.config.Address.IsValid() || t.config.Leases == nil {
		return nil
	}
	if err := t.renew(ctx); err != nil {
		return fmt.Errorf("renew the lease of %s: %w", t.config.Address, err)
	}
	t.leased = true
	goOn()
	return t.writeEndpoints(ctx, false, goOn)
}

// leave removes this server from the endpoints. Its lease may have ended before, if etcd was slow.
func (t *Tasks) leave(ctx context.Context) {
	if !t.config.Address.IsValid() || t.config.Leases == nil {
		return
	}
	err := attempt(ctx, attemptMost, func(ctx context.Context, goOn func()) error {
		err := t.config.Leases.Delete(ctx, t.leaseKey(), &corev1.Endpoints{}, store.ValidateAllObjectFunc, store.DeleteOptions{})
		if store.IsNotFound(err) && !t.leased {
			return nil
		}
		if err != nil && !store.IsNotFound(err) {
			return err
		}
		goOn()
		return t.writeEndpoints(ctx, true, goOn)
	})
	if err != nil {
		t.config.Log.Warn("this server is an endpoint of the service kubernetes still, until its lease ends", "error", err)
	}
}

func (t *Tasks) leaseKey() string { return LeasesPrefix + "/" + t.config.Address.Addr().String() }

// renew writes this server's lease. Its generation changes each time, because the storage skips an update
// without changes.
func (t *Tasks) renew(ctx context.Context) error {
	ttl := uint64(leaseTime / time.Second)
	return t.config.Leases.GuaranteedUpdate(ctx, t.leaseKey(), &corev1.Endpoints{},
		func(input runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
			lease := input.(*corev1.Endpoints)
			lease.Generation++
			lease.Subsets = []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: t.config.Address.Addr().String()}}}}
			return lease, &ttl, nil
		}, store.UpdateOptions{IgnoreNotFound: true})
}

// addresses returns the addresses of all servers with a lease, sorted.
func (t *Tasks) addresses(ctx context.Context) ([]corev1.EndpointAddress, error) {
	var list corev1.EndpointsList
	err := t.config.Leases.GetList(ctx, LeasesPrefix, store.ListOptions{Predicate: store.Everything, Recursive: true}, &list)
	if err != nil {
		return nil, fmt.Errorf("list the leases of servers: %w", err)
	}
	var found []netip.Addr
	for i := range list.Items {
		for _, subset := range list.Items[i].Subsets {
			for _, a := range subset.Addresses {
				if ip, err := netip.ParseAddr(a.IP); err == nil {
					found = append(found, ip)
				}
			}
		}
	}
	slices.SortFunc(found, netip.Addr.Compare)
	addresses := []corev1.EndpointAddress{}
	for _, ip := range slices.Compact(found) {
		addresses = append(addresses, corev1.EndpointAddress{IP: ip.String()})
	}
	return addresses, nil
}

// writeEndpoints updates the service's Endpoints and EndpointSlice from the leases. It never writes an empty
// list while the server runs: a running server has a lease, so etcd must have lost leases.
func (t *Tasks) writeEndpoints(ctx context.Context, leaving bool, goOn func()) error {
	addresses, err := t.addresses(ctx)
	if err != nil {
		return err
	}
	goOn()
	if len(addresses) == 0 && !leaving {
		return errors.New("no server has a lease, not even this one")
	}
	var wanted []corev1.EndpointSubset
	if len(addresses) > 0 {
		wanted = []corev1.EndpointSubset{{Addresses: addresses, Ports: []corev1.EndpointPort{{
			Name: portName, Port: int32(t.config.Address.Port()), Protocol: corev1.ProtocolTCP,
		}}}}
	}
	if t.config.Serves(corev1.SchemeGroupVersion.WithResource("endpoints")) {
		if wanted, err = t.writeSubsets(ctx, wanted, goOn); err != nil {
			return err
		}
		goOn()
	}
	if t.config.Serves(discoveryv1.SchemeGroupVersion.WithResource("endpointslices")) {
		return t.writeSlice(ctx, sliceOf(wanted), goOn)
	}
	return nil
}

// writeSubsets writes the Endpoints, and returns their new subsets. A single subset keeps its ports, which a
// server with another port may have written.
func (t *Tasks) writeSubsets(
	ctx context.Context, wanted []corev1.EndpointSubset, goOn func(),
) ([]corev1.EndpointSubset, error) {
	var e corev1.Endpoints
	err := t.client.get(ctx, endpoints+"/"+apiService, &e)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, err
	}
	goOn()
	if len(e.Subsets) == 1 && len(wanted) == 1 {
		wanted[0].Ports = e.Subsets[0].Ports
	}
	if !missing && e.Labels[discoveryv1.LabelSkipMirror] == "true" && equality.Semantic.DeepEqual(e.Subsets, wanted) {
		return wanted, nil
	}
	e.Name, e.Namespace, e.Subsets = apiService, metav1.NamespaceDefault, wanted
	if e.Labels == nil {
		e.Labels = map[string]string{}
	}
	e.Labels[discoveryv1.LabelSkipMirror] = "true"
	if missing {
		return wanted, t.client.create(ctx, endpoints, &e)
	}
	return wanted, t.client.update(ctx, endpoints+"/"+apiService, &e)
}

// sliceOf returns the EndpointSlice of the subsets. All addresses of a slice are of one family.
func sliceOf(subsets []corev1.EndpointSubset) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: apiService, Namespace: metav1.NamespaceDefault, Labels: map[string]string{discoveryv1.LabelServiceName: apiService},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{},
	}
	if len(subsets) == 0 {
		return s
	}
	isIPv6 := func(a corev1.EndpointAddress) bool { return netip.MustParseAddr(a.IP).Is6() }
	if !slices.ContainsFunc(subsets[0].Addresses, func(a corev1.EndpointAddress) bool { return !isIPv6(a) }) {
		s.AddressType = discoveryv1.AddressTypeIPv6
	}
	for _, a := range subsets[0].Addresses {
		if isIPv6(a) == (s.AddressType == discoveryv1.AddressTypeIPv6) {
			s.Endpoints = append(s.Endpoints,
				discoveryv1.Endpoint{Addresses: []string{a.IP}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
		}
	}
	for _, p := range subsets[0].Ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: new(p.Name), Port: new(p.Port), Protocol: new(p.Protocol)})
	}
	return s
}

// writeSlice writes the EndpointSlice. Its address family can't change: a slice of another family is deleted first.
func (t *Tasks) writeSlice(ctx context.Context, wanted *discoveryv1.EndpointSlice, goOn func()) error {
	var present discoveryv1.EndpointSlice
	err := t.client.get(ctx, endpointSlices+"/"+apiService, &present)
	goOn()
	switch {
	case apierrors.IsNotFound(err):
		return t.client.create(ctx, endpointSlices, wanted)
	case err != nil:
		return err
	case present.AddressType != wanted.AddressType:
		return errors.Join(t.client.remove(ctx, endpointSlices+"/"+apiService), t.client.create(ctx, endpointSlices, wanted))
	case equality.Semantic.DeepEqual(present.Endpoints, wanted.Endpoints) && equality.Semantic.DeepEqual(present.Ports, wanted.Ports) &&
		equality.Semantic.DeepEqual(present.Labels, wanted.Labels):
		return nil
	}
	wanted.ResourceVersion = present.ResourceVersion
	return t.client.update(ctx, endpointSlices+"/"+apiService, wanted)
}
