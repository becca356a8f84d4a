//lint:file-ignore SA1019 clients read Endpoints, deprecated as they are

package server_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
)

// withObjects has a server make the objects that every cluster has, as the one at an address of its own.
func withObjects(address string) func(*options.Options) {
	return func(o *options.Options) { o.InitialObjects, o.AdvertiseAddress = true, net.ParseIP(address) }
}

// ready waits until the server is, and so has tried to make its objects.
func (r *running) ready(t testing.TB) {
	t.Helper()
	client := r.httpClient(t)
	until(t, "the server is ready", func() bool {
		res, _ := ask(t, client, "GET", r.URL+"/readyz", nil)
		return res.StatusCode == http.StatusOK
	})
}

// TestInitialObjects starts a server and asks for what every cluster has. Who owns its fields, and what it says, is as in a
// kube-apiserver; and to make it fills no caches.
func TestInitialObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, stop, err := launch(in(dir), withObjects("192.0.2.7"))
	must(t, err)
	first.ready(t)
	for _, name := range []string{"configmaps", "services"} {
		if state := first.cache(t, name).Status.State; state != v1alpha1.CacheUninitialized {
			t.Errorf("the cache of %s is %s", name, state)
		}
	}
	core := first.admin(t).CoreV1()
	service, err := core.Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	must(t, err)
	port := service.Spec.Ports[0]
	_, listens, err := net.SplitHostPort(strings.TrimPrefix(first.URL, "https://"))
	must(t, err)
	if service.Spec.ClusterIP != "10.96.0.1" || service.Labels["component"] != "apiserver" || service.Labels["provider"] != "kubernetes" ||
		port.Name != "https" || port.Port != 443 || port.TargetPort.String() != listens || service.Spec.Type != corev1.ServiceTypeClusterIP {
		t.Errorf("%+v", service)
	}
	settings, err := core.ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	must(t, err)
	if ca := settings.Data["client-ca-file"]; strings.Count(ca, "BEGIN CERTIFICATE") != 1 || len(settings.Data) != 7 {
		t.Errorf("%+v", settings.Data)
	}
	// Who may get a certificate of clients for any name must not be a front proxy by that.
	if proxy := settings.Data["requestheader-client-ca-file"]; strings.Count(proxy, "BEGIN CERTIFICATE") != 1 || proxy == settings.Data["client-ca-file"] {
		t.Errorf("the authority of the front proxy is %s", proxy)
	}
	for _, fields := range [][]metav1.ManagedFieldsEntry{service.ManagedFields, settings.ManagedFields} {
		if len(fields) != 1 || fields[0].Manager != "kube-apiserver" || fields[0].Operation != metav1.ManagedFieldsOperationUpdate {
			t.Errorf("%+v", fields)
		}
	}
	// What others wrote stays, and what must be so comes back.
	clientCA := settings.Data["client-ca-file"]
	settings.Data = map[string]string{"requestheader-allowed-names": `["front"]`}
	_, err = core.ConfigMaps("kube-system").Update(t.Context(), settings, metav1.UpdateOptions{})
	must(t, err)
	must(t, stop())

	proxyCA := filepath.Join(t.TempDir(), "proxy.crt")
	must(t, os.WriteFile(proxyCA, []byte(clientCA), 0o600))
	again := start(t, in(dir), withObjects("192.0.2.7"), func(o *options.Options) {
		o.Access.RequestHeader = options.RequestHeader{
			ClientCAFile: proxyCA, AllowedNames: []string{"edge", "front"}, UsernameHeaders: []string{"X-Remote-User"}, GroupHeaders: []string{"X-Remote-Group"},
		}
	})
	again.ready(t)
	settings, err = again.admin(t).CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	must(t, err)
	ca := settings.Data["client-ca-file"]
	if diff := cmp.Diff(map[string]string{
		"client-ca-file": ca, "requestheader-client-ca-file": ca, "requestheader-allowed-names": `["front","edge"]`,
		"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `[]`,
	}, settings.Data); diff != "" || ca == "" {
		t.Error(diff)
	}
	same, err := again.admin(t).CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	must(t, err)
	if same.UID != service.UID || same.ResourceVersion != service.ResourceVersion {
		t.Errorf("the service was written again: %+v", same)
	}
}

// leased are the addresses of servers that have a lease in etcd.
func leased(t testing.TB, client *clientv3.Client) []string {
	t.Helper()
	const prefix = "/registry/masterleases/"
	got, err := client.Get(t.Context(), prefix, clientv3.WithPrefix())
	must(t, err)
	var addresses []string
	for _, kv := range got.Kvs {
		addresses = append(addresses, strings.TrimPrefix(string(kv.Key), prefix))
		if kv.Lease == 0 || !strings.HasPrefix(string(kv.Value), "k8s\x00") {
			t.Errorf("%s is %q, with lease %d", kv.Key, kv.Value, kv.Lease)
		}
	}
	return addresses
}

// TestServersKnowEachOther runs two servers on one etcd. Both have a lease, and one that stops takes its own away.
func TestServersKnowEachOther(t *testing.T) {
	t.Parallel()
	etcd := (&rival{}).startEtcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	on := func(o *options.Options) { o.Etcd.Servers = []string{etcd} }
	one, stopOne, err := launch(on, withObjects("192.0.2.1"))
	must(t, err)
	two, stopTwo, err := launch(on, withObjects("192.0.2.2"))
	must(t, err)
	outside := start(t, on, withObjects("192.0.2.3"), func(o *options.Options) { o.EndpointReconciler = options.ReconcilerNone })
	for _, r := range []*running{one, two, outside} {
		r.ready(t)
	}
	both, left := []string{"192.0.2.1", "192.0.2.2"}, []string{"192.0.2.1"}
	// Of two servers that make the service at once, one is refused its address, and tries again a second later.
	until(t, "both have a lease", func() bool { return slices.Equal(leased(t, client), both) })
	var e *corev1.Endpoints
	var s *discoveryv1.EndpointSlice
	are := func(want []string) func() bool {
		return func() bool {
			e, s = outside.endpoints(t)
			addresses, sliced := addressesOf(e, s)
			return slices.Equal(addresses, want) && slices.Equal(sliced, want)
		}
	}
	until(t, "both are endpoints", are(both))
	if e.Labels["endpointslice.kubernetes.io/skip-mirror"] != "true" || s.Labels["kubernetes.io/service-name"] != "kubernetes" ||
		e.Subsets[0].Ports[0].Name != "https" || *s.Ports[0].Port != e.Subsets[0].Ports[0].Port {
		t.Errorf("%+v\n%+v", e, s)
	}
	must(t, stopTwo())
	if got := leased(t, client); slices.Contains(got, "192.0.2.2") {
		t.Errorf("after one has stopped, %v have a lease", got)
	}
	// The other one may have read the leases before, and write both until it reads them again.
	until(t, "the one that is left is the endpoint", are(left))
	// Nobody writes after the last one, which leaves even if its lease has ended.
	_, err = client.Delete(t.Context(), "/registry/masterleases/192.0.2.1")
	must(t, err)
	must(t, stopOne())
	if !are(nil)() {
		t.Errorf("after all have stopped, the endpoints are\n%+v\n%+v", e, s)
	}
}

// endpoints are those of the service kubernetes, in both forms; empty while there are none.
func (r *running) endpoints(t testing.TB) (*corev1.Endpoints, *discoveryv1.EndpointSlice) {
	t.Helper()
	e, err := r.admin(t).CoreV1().Endpoints("default").Get(within(t), "kubernetes", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		must(t, err)
	}
	s, err := r.admin(t).DiscoveryV1().EndpointSlices("default").Get(within(t), "kubernetes", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		must(t, err)
	}
	return e, s
}

// addressesOf are those of endpoints, and those of their slice.
func addressesOf(e *corev1.Endpoints, s *discoveryv1.EndpointSlice) (addresses, sliced []string) {
	for _, subset := range e.Subsets {
		for _, a := range subset.Addresses {
			addresses = append(addresses, a.IP)
		}
	}
	for _, endpoint := range s.Endpoints {
		sliced = append(sliced, endpoint.Addresses...)
	}
	return addresses, sliced
}

// TestNobodyReachesLoopback starts a server that only this machine reaches: it is no endpoint of the service kubernetes, and has no
// lease to renew. With --advertise-address it is one, as others may forward to it.
func TestNobodyReachesLoopback(t *testing.T) {
	t.Parallel()
	etcd := (&rival{}).startEtcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	on := func(o *options.Options) { o.Etcd.Servers, o.InitialObjects = []string{etcd}, true }
	r := start(t, on)
	r.ready(t)
	_, err = r.admin(t).CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	must(t, err)
	if _, err := r.admin(t).CoreV1().Endpoints("default").Get(t.Context(), "kubernetes", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the service has endpoints: %v", err)
	}
	if got := leased(t, client); len(got) > 0 {
		t.Errorf("%v have a lease", got)
	}
	other := start(t, on, withObjects("192.0.2.1"))
	other.ready(t)
	until(t, "the other has a lease", func() bool { return slices.Equal(leased(t, client), []string{"192.0.2.1"}) })
}
