package service

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/proxy"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/kubelet"
)

// Needs holds the parts of the server that services use besides their own storage.
type Needs struct {
	// Kubelets connects to the addresses of pods.
	Kubelets *kubelet.Client
	// Storage returns the storage of another resource, nil if it is not served.
	Storage func(schema.GroupVersionResource) rest.Storage
}

// DeclareServices declares services with the subresource proxy.
func DeclareServices(n Needs) builtin.Declaration {
	r := Resource
	r.Sub = append(slices.Clone(r.Sub), builtin.Sub{Name: "proxy", New: builtin.Make(func(services *builtin.REST) rest.Storage {
		find := &finder{needs: n, services: services}
		return &kubelet.ProxyREST{
			Options:          func() runtime.Object { return &corev1.ServiceProxyOptions{} },
			Path:             func(o runtime.Object) string { return o.(*corev1.ServiceProxyOptions).Path },
			ResourceLocation: find.location,
		}
	})})
	return declaration{builtin.Declare(r)}
}

// AddOptions registers the conversion from a query to the options of the proxy.
func AddOptions(s *runtime.Scheme) error {
	return builtin.AddQueryOptions(s, &corev1.ServiceProxyOptions{})
}

// finder finds an endpoint of a service.
type finder struct {
	needs    Needs
	services *builtin.REST
}

// location picks one of the service's endpoints at random.
func (f *finder) location(ctx context.Context, id string) (kubelet.Location, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return kubelet.Location{}, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", id))
	}
	port, err := f.portName(ctx, name, port)
	if err != nil {
		return kubelet.Location{}, err
	}
	endpoints, err := f.endpoints(ctx, name)
	if err != nil {
		return kubelet.Location{}, apierrors.NewInternalError(err)
	}
	if len(endpoints) == 0 {
		return kubelet.Location{}, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
	isPod := func(e *discoveryv1.Endpoint) bool { return f.isPod(ctx, e) }
	host, err := proxy.RandomEndpoint(name, endpoints, port, f.family(), isPod)
	return kubelet.Location{URL: &url.URL{Scheme: scheme, Host: host}, Transport: f.needs.Kubelets.Pods()}, err
}

// family returns the family of the endpoints to use: the cluster has only IPv4.
func (*finder) family() corev1.IPFamily { return corev1.IPv4Protocol }

// portName returns the name of a service's port, if port is a number.
func (f *finder) portName(ctx context.Context, name, port string) (string, error) {
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		return port, nil // a name, or nothing
	}
	svc, err := builtin.Get[*corev1.Service](ctx, f.services, name, &metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, p := range svc.Spec.Ports {
		if int64(p.Port) == number {
			return p.Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
}

// endpoints returns the slices of a service.
func (f *finder) endpoints(ctx context.Context, name string) ([]*discoveryv1.EndpointSlice, error) {
	lister, ok := f.needs.Storage(discoveryv1.SchemeGroupVersion.WithResource("endpointslices")).(rest.Lister)
	if !ok {
		return nil, nil
	}
	obj, err := lister.List(ctx, &metainternalversion.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: name}), ResourceVersion: "0",
	})
	if err != nil {
		return nil, err
	}
	list, ok := obj.(*discoveryv1.EndpointSliceList)
	if !ok {
		return nil, fmt.Errorf("not a list of endpoint slices: %T", obj)
	}
	var endpoints []*discoveryv1.EndpointSlice
	for i := range list.Items {
		endpoints = append(endpoints, &list.Items[i])
	}
	return endpoints, nil
}

// isPod reports whether the endpoint's address belongs to the pod that it names. Without this check, a user who may
// write slices could make the proxy connect to any address.
func (f *finder) isPod(ctx context.Context, e *discoveryv1.Endpoint) bool {
	if e.TargetRef == nil || e.TargetRef.Namespace != request.NamespaceValue(ctx) {
		return false
	}
	pods := f.needs.Storage(corev1.SchemeGroupVersion.WithResource("pods"))
	pod, err := builtin.Get[*corev1.Pod](ctx, pods, e.TargetRef.Name, &metav1.GetOptions{})
	return err == nil && slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == e.Addresses[0] })
}
