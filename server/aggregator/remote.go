package aggregator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// remote is another server, as an APIService names it.
type remote struct {
	name      string
	uid       types.UID
	ref       apiregistrationv1.ServiceReference
	spec      apiregistrationv1.APIServiceSpec
	transport *http.Transport
	// broken is why it can't be asked, whatever its service does.
	broken error
	// away is why requests are not passed on; nil if they are.
	away atomic.Pointer[string]
	// resources is the server's latest list of its resources; nil if it has sent none.
	resources atomic.Pointer[[]apidiscoveryv2.APIResourceDiscovery]
	// described is what the server has told of itself, and its description was made of.
	described string
}

const (
	dialWait      = 30 * time.Second
	handshakeWait = 10 * time.Second
	// idleMost is how many connections to one server are kept for the next request.
	idleMost = 25
)

func newRemote(s *apiregistrationv1.APIService, certificate func() (*tls.Certificate, error)) *remote {
	r := &remote{name: s.Name, uid: s.UID, ref: *s.Spec.Service, spec: *s.Spec.DeepCopy()}
	unchecked := "it has not been checked yet"
	r.away.Store(&unchecked)
	config := &tls.Config{
		ServerName: r.ref.Name + "." + r.ref.Namespace + ".svc", InsecureSkipVerify: s.Spec.InsecureSkipTLSVerify, MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c, err := certificate()
			if err != nil || c == nil {
				return &tls.Certificate{}, err // none
			}
			return c, nil
		},
	}
	if len(s.Spec.CABundle) > 0 {
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(s.Spec.CABundle) {
			r.broken = errors.New("unable to load root certificates: its caBundle has no certificate")
		}
	}
	r.transport = utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig: config, TLSHandshakeTimeout: handshakeWait, MaxIdleConnsPerHost: idleMost,
		DialContext: (&net.Dialer{Timeout: dialWait, KeepAlive: dialWait}).DialContext,
	})
	return r
}

func (r *remote) service() string { return r.ref.Namespace + "/" + r.ref.Name }

func portOf(ref apiregistrationv1.ServiceReference) int32 {
	if ref.Port == nil {
		return 443
	}
	return *ref.Port
}

// locate finds where a service is.
func (s *Server) locate(ctx context.Context, ref apiregistrationv1.ServiceReference) (host string, err error) {
	port := portOf(ref)
	if address, ok := s.config.Addresses.Address(ref.Namespace, ref.Name, port); ok {
		return address, nil
	}
	svc, found, err := s.services.Cached(ctx, ref.Namespace, ref.Name)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the service %s/%s: %w", ref.Namespace, ref.Name, err)
	case !found:
		return "", fmt.Errorf("service %q not found", ref.Name)
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return net.JoinHostPort(svc.Spec.ExternalName, strconv.Itoa(int(port))), nil
	}
	i := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
	if i < 0 {
		return "", fmt.Errorf("no service port %d found for service %q", port, ref.Name)
	}
	if s.config.Endpoints {
		return s.endpoint(ctx, svc, svc.Spec.Ports[i].Name)
	}
	if svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return "", fmt.Errorf("cannot route to service with ClusterIP %q: --enable-aggregator-routing goes to its endpoints, --webhook-service-resolver names an address", svc.Spec.ClusterIP)
	}
	return net.JoinHostPort(svc.Spec.ClusterIP, strconv.Itoa(int(port))), nil
}

// endpoint chooses one of a service's endpoints that are ready.
func (s *Server) endpoint(ctx context.Context, svc *corev1.Service, port string) (string, error) {
	all, err := s.slicesOf(ctx, svc.Namespace, svc.Name)
	if err != nil {
		return "", err
	}
	var addresses []string
	for _, one := range all {
		i := slices.IndexFunc(one.Ports, func(p discoveryv1.EndpointPort) bool { return named(p, port) })
		if i < 0 {
			continue
		}
		for _, e := range one.Endpoints {
			if ready(e) && len(e.Addresses) > 0 {
				addresses = append(addresses, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*one.Ports[i].Port))))
			}
		}
	}
	if len(addresses) == 0 {
		return "", fmt.Errorf("no endpoints available for service %q", svc.Name)
	}
	return addresses[rand.IntN(len(addresses))], nil
}

// slicesOf are the endpoints of a service.
func (s *Server) slicesOf(ctx context.Context, namespace, name string) (own []*discoveryv1.EndpointSlice, err error) {
	all, err := s.endpoints.List(ctx, namespace)
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

func ready(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

func named(p discoveryv1.EndpointPort, name string) bool {
	return p.Port != nil && p.Name != nil && *p.Name == name
}

// listens says whether a slice has an endpoint that is ready, and a port of a name.
func listens(one *discoveryv1.EndpointSlice, port string) bool {
	return slices.ContainsFunc(one.Endpoints, ready) &&
		slices.ContainsFunc(one.Ports, func(p discoveryv1.EndpointPort) bool { return named(p, port) })
}
