package aggregator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// remote is another server that an APIService names.
type remote struct {
	name      string
	uid       types.UID
	ref       apiregistrationv1.ServiceReference
	spec      apiregistrationv1.APIServiceSpec
	transport *http.Transport
	// broken is the reason why it can never be reached, whatever the state of its service.
	broken error
	// away is the reason why no requests are passed to it; nil if they are.
	away atomic.Pointer[string]
	// resources is the server's latest list of its resources; nil if it has sent none.
	resources atomic.Pointer[[]apidiscoveryv2.APIResourceDiscovery]
	// registered is the latest state of the APIService.
	registered atomic.Pointer[apiregistrationv1.APIService]
	// wake triggers a check. stop ends the checks and waits for their end.
	wake chan struct{}
	stop func()
	// hasV3 is true if the server has OpenAPI v3 of its version.
	hasV3 bool
	// described is the address, with a hash, of the v3 document that was taken over last. It is set once v2 was, too.
	described string
}

const (
	dialWait      = 30 * time.Second
	handshakeWait = 10 * time.Second
	// idleMost limits the idle connections to one server.
	idleMost = 25
)

func newRemote(s *apiregistrationv1.APIService, certificate func() (*tls.Certificate, error)) *remote {
	r := &remote{name: s.Name, uid: s.UID, ref: *s.Spec.Service, spec: *s.Spec.DeepCopy(), wake: make(chan struct{}, 1)}
	r.registered.Store(s)
	unchecked := "it has not been checked yet"
	r.away.Store(&unchecked)
	config := &tls.Config{
		ServerName: r.ref.Name + "." + r.ref.Namespace + ".svc", InsecureSkipVerify: s.Spec.InsecureSkipTLSVerify,
		MinVersion: tls.VersionTLS12, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
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

// wakeUp triggers a check without waiting. Several signals before the check count as one.
func (r *remote) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *remote) service() string { return r.ref.Namespace + "/" + r.ref.Name }

func portOf(ref apiregistrationv1.ServiceReference) int32 {
	if ref.Port == nil {
		return 443
	}
	return *ref.Port
}

// locate returns the address of a server's service.
func (s *Server) locate(ctx context.Context, ref apiregistrationv1.ServiceReference) (host string, err error) {
	return s.config.Services.Find(ctx, ref.Namespace, ref.Name, portOf(ref))
}
