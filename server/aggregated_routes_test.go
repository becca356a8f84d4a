package server_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
)

// authority is a new one.
func authority(t testing.TB) *identity.Authority {
	t.Helper()
	dir, err := identity.OpenDataDir(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, dir.Close()) })
	a, err := identity.LoadAuthority(dir)
	must(t, err)
	return a
}

// asFrontProxy has a server show a certificate of an authority to others.
func asFrontProxy(t testing.TB, a *identity.Authority) func(*options.Options) {
	t.Helper()
	certPEM, keyPEM, err := a.ClientCert("front-1")
	must(t, err)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "front.crt"), filepath.Join(dir, "front.key")
	must(t, os.WriteFile(certFile, certPEM, 0o600))
	must(t, os.WriteFile(keyFile, keyPEM, 0o600))
	return func(o *options.Options) { o.Aggregator.CertFile, o.Aggregator.KeyFile = certFile, keyFile }
}

// farServer is an extension API server at a host, which has a certificate, knows front proxies by their authority, and has the things of
// any group. It returns its port.
func farServer(t testing.TB, host string, certificate tls.Certificate, fronts *identity.Authority, things http.HandlerFunc) (port int32) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/")
		switch {
		case len(parts) == 4:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s/v1","resources":[{"name":"things","kind":"Thing","verbs":["list"]}]}`, parts[2])
		case len(parts) == 5 && parts[4] == "things":
			things(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	must(t, s.Listener.Close()) // it listens at loopback only
	var err error
	s.Listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	must(t, err)
	s.EnableHTTP2, s.Config.ErrorLog = true, slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of handshakes that fail as they should
	// By TLS 1.2 a client learns that its certificate is refused before it has sent a request.
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool(), MaxVersion: tls.VersionTLS12,
	}
	s.TLS.ClientCAs.AppendCertsFromPEM(fronts.CertPEM())
	s.StartTLS()
	t.Cleanup(s.Close)
	return int32(s.Listener.Addr().(*net.TCPAddr).Port)
}

// who is who asks, as the front proxy says.
func who(r *http.Request) string {
	return fmt.Sprintf("%s says that %s of %s asks", r.TLS.PeerCertificates[0].Subject.CommonName,
		r.Header.Get("X-Remote-User"), strings.Join(r.Header.Values("X-Remote-Group"), ", "))
}

// aliceToken is that of alice, who may do everything here.
const aliceToken = "alice,alice,a-1,\"system:masters\"\n"

const aliceAsks = "front-1 says that alice of system:masters, system:authenticated asks"

// outerAddress is an address of this machine that an endpoint may have: not that of loopback.
func outerAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	must(t, err)
	for _, one := range all {
		if prefix, ok := one.(*net.IPNet); ok && prefix.IP.To4() != nil && prefix.IP.IsGlobalUnicast() {
			return prefix.IP.String()
		}
	}
	t.Skip("this machine has loopback addresses only, which no endpoint may have")
	return ""
}

// route is an APIService, and what becomes of requests for it.
type route struct {
	// name is the namespace of its service, and begins its group. The service is called far.
	name string
	// port is what it names; 0 for 443.
	port int32
	// caBundle verifies the other server, which has a certificate; without a bundle nothing is verified. An empty one leaves it to the
	// system.
	caBundle []byte
	service  *corev1.ServiceSpec
	slices   []discoveryv1.EndpointSlice

	// reason and message are those of its condition.
	reason, message string
	// address is where requests go; "" if they are refused.
	address string
	// gone is why they are refused once the service is deleted; "" if it stays.
	gone string
}

func (r route) group() string { return r.name + ".example.com" }

func (r route) install(t testing.TB, front *running) {
	t.Helper()
	core := front.admin(t).CoreV1()
	_, err := core.Namespaces().Create(within(t), &corev1.Namespace{ObjectMeta: named(r.name)}, metav1.CreateOptions{})
	must(t, err)
	if r.service != nil {
		_, err := core.Services(r.name).Create(within(t), &corev1.Service{ObjectMeta: named("far"), Spec: *r.service}, metav1.CreateOptions{})
		must(t, err)
	}
	for i, one := range r.slices {
		one.Name, one.Labels = fmt.Sprintf("far-%d", i), map[string]string{discoveryv1.LabelServiceName: "far"}
		_, err := front.admin(t).DiscoveryV1().EndpointSlices(r.name).Create(within(t), &one, metav1.CreateOptions{})
		must(t, err)
	}
	spec := apiregistrationv1.APIServiceSpec{Group: r.group(), CABundle: r.caBundle, InsecureSkipTLSVerify: r.caBundle == nil, Service: &apiregistrationv1.ServiceReference{Namespace: r.name, Name: "far"}}
	if r.port != 0 {
		spec.Service.Port = &r.port
	}
	front.leave(t, spec)
}

// asked asks for things as alice, and returns the step that passed the request on.
func (r route) asked(t testing.TB, front *running) (code int, body string, step v1alpha1.Step) {
	t.Helper()
	res, answer := ask(t, front.tokenClient(t, "alice"), "GET", front.URL+"/apis/"+r.group()+"/v1/things", nil)
	taken := stepsOf(front.journeyOf(t, res.Header.Get("Kx-Journey")), steps.HandlerAggregate.String())
	if ids := res.Header.Values("Audit-Id"); ids[0] == "" || ids[len(ids)-1] != ids[0] {
		t.Errorf("the audit logs of the two servers have different IDs: %q", ids)
	}
	if len(taken) != 1 {
		t.Fatalf("%d steps passed the request on: %d %s", len(taken), res.StatusCode, answer)
	}
	return res.StatusCode, string(answer), taken[0]
}

// tries is how often a route is asked for that chooses among endpoints.
const tries = 10

func (r route) check(t *testing.T, front *running) {
	if c := front.judged(t, r.group(), r.reason); (c.Status == apiregistrationv1.ConditionTrue) != (r.reason == "Passed") || !strings.HasSuffix(c.Message, r.message) {
		t.Errorf("the condition is %s: %s", c.Status, c.Message)
	}
	if r.address == "" {
		code, body, step := r.asked(t, front)
		if code != http.StatusServiceUnavailable || body != "service unavailable\n" || !strings.HasPrefix(step.Error, "the service "+r.name+"/far is not available: ") || !strings.HasSuffix(step.Error, r.message) {
			t.Errorf("%d %q because of %s", code, body, step.Error)
		}
		return
	}
	for range tries {
		code, body, step := r.asked(t, front)
		if code != http.StatusOK || body != aliceAsks || attributeOf(step, "address") != r.address {
			t.Errorf("%d %s from %s (%s)", code, body, attributeOf(step, "address"), step.Error)
		}
	}
	if r.gone == "" {
		return
	}
	must(t, front.admin(t).CoreV1().Services(r.name).Delete(within(t), "far", metav1.DeleteOptions{}))
	var why string
	until(t, "requests are refused", func() bool {
		code, _, step := r.asked(t, front)
		why = step.Error
		return code == http.StatusServiceUnavailable
	})
	if checked := fmt.Sprintf("the service %s/far is not available: service/far in %q is not present", r.name, r.name); why != r.gone && why != checked {
		t.Errorf("without the service: %s", why)
	}
}

func attributeOf(step v1alpha1.Step, name string) string {
	for _, a := range step.Attributes {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// TestRoutes has a server leave groups to others, whose services are of all kinds.
func TestRoutes(t *testing.T) {
	t.Parallel()
	at := func(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
	service := func(kind corev1.ServiceType, ip string, port int32) *corev1.ServiceSpec {
		return &corev1.ServiceSpec{Type: kind, ClusterIP: ip, Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "https", Port: port}}}
	}
	external := func(host string) *corev1.ServiceSpec {
		return &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host}
	}
	slice := func(kind discoveryv1.AddressType, address string, ready *bool, ports map[string]int32) (s discoveryv1.EndpointSlice) {
		s.AddressType = kind
		s.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ready}}}
		for name, number := range ports {
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &name, Port: &number})
		}
		return s
	}
	const ipv4, ipv6 = discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6
	const clusterIP, nodePort = corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort
	const passed = "all checks passed"
	// Nobody is there, and nobody is asked.
	away := []discoveryv1.EndpointSlice{slice(ipv4, "192.0.2.200", nil, map[string]int32{"https": 443})}
	notReady := []discoveryv1.EndpointSlice{slice(ipv4, "192.0.2.200", new(bool), map[string]int32{"https": 443})}

	fronts, serving := authority(t), authority(t)
	certificate, err := serving.ServingCert([]string{"far.verified.svc", "far.unverified.svc", "far.unverified-by-system.svc"})
	must(t, err)
	for _, tc := range []struct {
		name string
		flag bool
		host func(*testing.T) string
		// of has the routes. The server at the port other does not know this one.
		of func(host string, far, other int32) []route
	}{
		{"to cluster IPs", false, func(*testing.T) string { return "127.0.0.1" }, func(host string, far, other int32) []route {
			return []route{
				{name: "external", port: far, service: external(host), reason: "Passed", message: passed, address: at(host, far)},
				{name: "internal", port: far, service: service(clusterIP, host, far), slices: away, reason: "Passed", message: passed, address: at(host, far)},
				{name: "told", reason: "Passed", message: passed, address: at(host, far)},
				{name: "deleted", port: far, service: external(host), reason: "Passed", message: passed, address: at(host, far), gone: `service "far" not found`},
				{name: "distrustful", port: other, service: external(host), reason: "FailedDiscoveryCheck", message: "remote error: tls: unknown certificate authority"},
				{name: "verified", port: far, service: external(host), caBundle: serving.CertPEM(), reason: "Passed", message: passed, address: at(host, far)},
				{name: "misnamed", port: far, service: external(host), caBundle: serving.CertPEM(), reason: "FailedDiscoveryCheck", message: "not far.misnamed.svc"},
				{name: "unverified", port: far, service: external(host), caBundle: fronts.CertPEM(), reason: "FailedDiscoveryCheck",
					message: `x509: certificate signed by unknown authority (possibly because of "x509: ECDSA verification failure" while trying to verify candidate authority certificate "kx-ca")`},
				{name: "unverified-by-system", port: far, service: external(host), caBundle: []byte{}, reason: "FailedDiscoveryCheck", message: "x509: certificate signed by unknown authority"},
				{name: "bundle-of-nothing", port: far, service: external(host), caBundle: []byte("no certificate"), reason: "FailedDiscoveryCheck",
					message: "unable to load root certificates: its caBundle has no certificate"},
				{name: "missing", reason: "ServiceNotFound", message: `service/far in "missing" is not present`},
				{name: "portless", port: 8443, service: service(clusterIP, "", 443), slices: away,
					reason: "ServicePortError", message: `service/far in "portless" is not listening on port 8443`},
				{name: "portless-node", port: 8443, service: service(nodePort, "", 443), slices: away,
					reason: "FailedDiscoveryCheck", message: `no service port 8443 found for service "far"`},
				{name: "headless", service: service(clusterIP, "None", 443), slices: away, reason: "FailedDiscoveryCheck",
					message: `cannot route to service with ClusterIP "None": --enable-aggregator-routing goes to its endpoints, --webhook-service-resolver names an address`},
				{name: "alone", service: service(clusterIP, "", 443), reason: "EndpointsNotFound", message: `cannot find endpointslices for service/far in "alone"`},
				{name: "asleep", service: service(clusterIP, "", 443), slices: notReady, reason: "MissingEndpoints",
					message: `endpointslices for service/far in "asleep" have no addresses with port name "https"`},
			}
		}},
		{"to endpoints", true, outerAddress, func(host string, far, other int32) []route {
			// The port that is wanted is the one with the name that the service's has.
			ready := slice(ipv4, host, nil, map[string]int32{"http": 1, "https": far})
			some := []discoveryv1.EndpointSlice{notReady[0], slice(ipv4, "192.0.2.200", nil, map[string]int32{"http": 443}), ready}
			both := []discoveryv1.EndpointSlice{slice(ipv6, "2001:db8::1", nil, map[string]int32{"https": far}), ready} // the service's family is IPv4
			return []route{
				{name: "internal", service: service(clusterIP, "", 443), slices: some, reason: "Passed", message: passed, address: at(host, far)},
				{name: "headless", service: service(clusterIP, "None", 443), slices: some, reason: "Passed", message: passed, address: at(host, far)},
				{name: "node", service: service(nodePort, "", 443), slices: some, reason: "Passed", message: passed, address: at(host, far)},
				{name: "external", port: far, service: external(host), reason: "Passed", message: passed, address: at(host, far)},
				{name: "two-families", service: service(clusterIP, "", 443), slices: both, reason: "Passed", message: passed, address: at(host, far)},
				{name: "told", reason: "Passed", message: passed, address: at(host, far)},
				{name: "alone", service: service(nodePort, "", 443), reason: "FailedDiscoveryCheck", message: `no endpoints available for service "far"`},
				{name: "asleep", service: service(nodePort, "", 443), slices: notReady, reason: "FailedDiscoveryCheck", message: `no endpoints available for service "far"`},
				{name: "missing", reason: "ServiceNotFound", message: `service/far in "missing" is not present`},
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := tc.host(t)
			things := func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Audit-Id", r.Header.Get("Audit-Id"))
				fmt.Fprint(w, who(r))
			}
			far, other := farServer(t, host, certificate, fronts, things), farServer(t, host, certificate, authority(t), things)
			front := start(t, tokens(t, aliceToken), asFrontProxy(t, fronts), func(o *options.Options) {
				o.Aggregator.Endpoints = tc.flag
				o.Admission.Services = map[string]string{"told/far": at(host, far)}
			})
			// A service may have a cluster IP that this machine can reach.
			_, err := front.admin(t).NetworkingV1().ServiceCIDRs().Create(within(t), &networkingv1.ServiceCIDR{
				ObjectMeta: named("loopback"), Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"127.0.0.0/24"}},
			}, metav1.CreateOptions{})
			must(t, err)
			routes := tc.of(host, far, other)
			for _, r := range routes {
				r.install(t, front)
			}
			for _, r := range routes {
				t.Run(r.name, func(t *testing.T) { r.check(t, front) })
			}
		})
	}
}

// shout takes a connection over, says who asks, and says back what it is told until that is bye. It tells when the connection has ended.
func shout(t testing.TB, ended chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "shouting" {
			http.Error(w, "no "+r.Header.Get("Upgrade"), http.StatusForbidden)
			return
		}
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { ended <- struct{}{} }()
		defer conn.Close()
		// What follows the header at once is for the client too.
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shouting\r\n\r\n%s\n", who(r))
		for {
			line, err := buffered.ReadString('\n')
			if err != nil || line == "bye\n" {
				return
			}
			fmt.Fprint(conn, strings.ToUpper(line))
		}
	}
}

// upgrade asks for a protocol as alice, by a connection that a test waits for no longer than its patience.
func (r *running) upgrade(t *testing.T, path, protocol string) (conn net.Conn, from *bufio.Reader, res *http.Response) {
	t.Helper()
	config, err := rest.TLSConfigFor(rest.AnonymousClientConfig(r.config))
	must(t, err)
	config.NextProtos = []string{"http/1.1"}
	at := strings.TrimPrefix(r.URL, "https://")
	conn, err = tls.Dial("tcp", at, config)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // some are closed by then
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer alice\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", path, at, protocol)
	from = bufio.NewReader(conn)
	res, err = http.ReadResponse(from, nil)
	must(t, err)
	return conn, from, res
}

// TestUpgradeOutlastsItsRequest: the time of a request counts until the other server has answered, and not for the connection.
func TestUpgradeOutlastsItsRequest(t *testing.T) {
	t.Parallel()
	fronts, serving := authority(t), authority(t)
	certificate, err := serving.ServingCert([]string{"far.lasting.svc"})
	must(t, err)
	port := farServer(t, "127.0.0.1", certificate, fronts, shout(t, make(chan struct{}, 100)))
	front := start(t, tokens(t, aliceToken), asFrontProxy(t, fronts))
	r := route{name: "lasting", port: port, caBundle: serving.CertPEM(), service: &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"}}
	r.install(t, front)
	front.judged(t, r.group(), "Passed")
	outlasts := func(timeout time.Duration) bool {
		conn, from, res := front.upgrade(t, fmt.Sprintf("/apis/%s/v1/things?timeout=%v", r.group(), timeout), "shouting")
		defer conn.Close()
		if res.StatusCode != http.StatusSwitchingProtocols {
			return false
		}
		for end := time.Now().Add(2 * timeout); time.Now().Before(end); {
			if _, err := from.ReadString('\n'); err != nil {
				return false
			}
			fmt.Fprintln(conn, "on")
		}
		return true
	}
	timeout := 200 * time.Millisecond
	for !outlasts(timeout) { // on a busy machine the time may be up before the other server has answered
		if timeout *= 2; timeout > time.Minute {
			t.Fatal("no connection outlasts its request")
		}
	}
}

// TestUpgradedRoute has clients change the protocol of connections to a server that a group is left to.
func TestUpgradedRoute(t *testing.T) {
	t.Parallel()
	fronts, serving := authority(t), authority(t)
	certificate, err := serving.ServingCert([]string{"far.upgraded.svc"})
	must(t, err)
	ended := make(chan struct{}, 1)
	port := farServer(t, "127.0.0.1", certificate, fronts, shout(t, ended))
	front, stop, err := launch(tokens(t, aliceToken), asFrontProxy(t, fronts))
	must(t, err)
	stop = sync.OnceValue(stop)
	t.Cleanup(func() { must(t, stop()) })
	r := route{name: "upgraded", port: port, caBundle: serving.CertPEM(), service: &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"}}
	r.install(t, front)
	front.judged(t, r.group(), "Passed")
	path := "/apis/" + r.group() + "/v1/things"

	_, _, res := front.upgrade(t, path, "whispering")
	if body, err := io.ReadAll(res.Body); res.StatusCode != http.StatusForbidden || string(body) != "no whispering\n" {
		t.Errorf("a protocol that the other server does not have: %d %q (%v)", res.StatusCode, body, err)
	}
	for _, tc := range []struct {
		name string
		end  func(conn net.Conn) error
	}{
		{"the client ends it", func(conn net.Conn) error { return conn.Close() }},
		{"the other server ends it", func(conn net.Conn) error { _, err := fmt.Fprintln(conn, "bye"); return err }},
		{"this server stops", func(net.Conn) error { return stop() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, from, res := front.upgrade(t, path, "shouting")
			if res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Upgrade") != "shouting" {
				t.Fatalf("%+v", res)
			}
			for _, word := range []string{"", "one", "two"} {
				want := aliceAsks // unasked
				if word != "" {
					fmt.Fprintln(conn, word)
					want = strings.ToUpper(word)
				}
				if line, err := from.ReadString('\n'); err != nil || line != want+"\n" {
					t.Errorf("the other server says %q (%v)", line, err)
				}
			}
			must(t, tc.end(conn))
			select {
			case <-ended:
			case <-within(t).Done():
				t.Error("the other server's connection goes on")
			}
			if more, err := from.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the client's connection goes on with %q (%v)", more, err)
			}
		})
	}
}
