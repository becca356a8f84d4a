package service

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/kx-apiserver/kx/server/controller/work"
)

// findWait limits the search for a service if the client sets no deadline.
const findWait = 10 * time.Second

// A Finder reads these resources.
var (
	Services       = corev1.SchemeGroupVersion.WithResource("services")
	EndpointSlices = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
)

// Finder finds services.
type Finder struct {
	// Addresses has the services that this server can't reach as a cluster does.
	Addresses Addresses
	// Endpoints sends requests to the endpoints of services, not to their cluster IPs.
	Endpoints bool
	// Self is the address of this server, which is the service kubernetes.
	Self string

	services  *work.Objects[*corev1.Service]
	endpoints *work.Objects[*discoveryv1.EndpointSlice]
}

var _ webhook.ServiceResolver = &Finder{}

// Initialize sets the storages that it reads. It must be called before the first request.
func (f *Finder) Initialize(kit *work.Kit) {
	reader := kit.ServerWriter("service-finder")
	f.services = work.ObjectsOf[*corev1.Service](kit, reader, Services)
	f.endpoints = work.ObjectsOf[*discoveryv1.EndpointSlice](kit, reader, EndpointSlices)
}

// ResolveEndpoint finds a service for the library's webhook clients, which call it whenever they dial.
func (f *Finder) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	ctx, cancel := context.WithTimeout(context.Background(), findWait)
	defer cancel()
	host, err := f.Find(ctx, namespace, name, port)
	if err != nil {
		return nil, err
	}
	return &url.URL{Scheme: "https", Host: host}, nil
}

// Find returns the address of a port of a service.
func (f *Finder) Find(ctx context.Context, namespace, name string, port int32) (host string, err error) {
	if address, ok := f.Addresses.Address(namespace, name, port); ok {
		return address, nil
	}
	if namespace == metav1.NamespaceDefault && name == "kubernetes" && port == 443 {
		return f.Self, nil
	}
	svc, found, err := f.services.Cached(ctx, namespace, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the service %s/%s: %w", namespace, name, err)
	case !found:
		return "", fmt.Errorf("service %q not found", name)
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return net.JoinHostPort(svc.Spec.ExternalName, strconv.Itoa(int(port))), nil
	}
	i := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
	if i < 0 {
		return "", fmt.Errorf("no service port %d found for service %q", port, name)
	}
	if f.Endpoints {
		return f.endpoint(ctx, svc, svc.Spec.Ports[i].Name)
	}
	if svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return "", fmt.Errorf("cannot route to service with ClusterIP %q: --enable-aggregator-routing goes to its endpoints, "+
			"--webhook-service-resolver names an address", svc.Spec.ClusterIP)
	}
	return net.JoinHostPort(svc.Spec.ClusterIP, strconv.Itoa(int(port))), nil
}

// endpoint chooses one of a service's ready endpoints, preferably of the service's first IP family.
func (f *Finder) endpoint(ctx context.Context, svc *corev1.Service, port string) (string, error) {
	all, err := f.Slices(ctx, svc.Namespace, svc.Name)
	if err != nil {
		return "", err
	}
	var addresses, others []string
	for _, one := range all {
		i := slices.IndexFunc(one.Ports, func(p discoveryv1.EndpointPort) bool { return named(p, port) })
		if i < 0 {
			continue
		}
		for _, e := range one.Endpoints {
			if !ready(e) || len(e.Addresses) == 0 {
				continue
			}
			address := net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*one.Ports[i].Port)))
			if slices.Index(svc.Spec.IPFamilies, corev1.IPFamily(one.AddressType)) == 0 {
				addresses = append(addresses, address)
			} else {
				others = append(others, address)
			}
		}
	}
	if len(addresses) == 0 {
		addresses = others
	}
	if len(addresses) == 0 {
		return "", fmt.Errorf("no endpoints available for service %q", svc.Name)
	}
	return addresses[rand.IntN(len(addresses))], nil
}

// Get returns the current state of a service. It may be shared: the caller must not change it.
func (f *Finder) Get(ctx context.Context, namespace, name string) (svc *corev1.Service, found bool, err error) {
	return f.services.Get(ctx, namespace, name)
}

// Slices returns the endpoint slices of a service. They may be shared.
func (f *Finder) Slices(ctx context.Context, namespace, name string) (own []*discoveryv1.EndpointSlice, err error) {
	all, err := f.endpoints.List(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("list the endpoint slices of namespace %s: %w", namespace, err)
	}
	for _, one := range all {
		if one.Labels[discoveryv1.LabelServiceName] == name {
			own = append(own, one)
		}
	}
	return own, nil
}

// Listens reports whether a slice has a ready endpoint, and a port with the given name.
func Listens(one *discoveryv1.EndpointSlice, port string) bool {
	return slices.ContainsFunc(one.Endpoints, ready) &&
		slices.ContainsFunc(one.Ports, func(p discoveryv1.EndpointPort) bool { return named(p, port) })
}

func ready(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

func named(p discoveryv1.EndpointPort, name string) bool {
	return p.Port != nil && p.Name != nil && *p.Name == name
}
