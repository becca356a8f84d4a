package service_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

type server struct {
	*service.REST

	status *builtin.StatusREST
	etcd   *builtintest.Etcd
}

func newServer(t *testing.T, etcd *builtintest.Etcd) server {
	t.Helper()
	s := builtintest.Storages(t, service.DeclareServices(service.Needs{}), etcd)
	return server{s[""].(*service.REST), s["status"].(*builtin.StatusREST), etcd}
}

func web(name string, change ...func(*corev1.Service)) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}, Selector: map[string]string{"a": "b"}},
	}
	for _, f := range change {
		f(svc)
	}
	return builtintest.Defaulted(svc)
}

func ofType(kind corev1.ServiceType) func(*corev1.Service) {
	return func(svc *corev1.Service) { svc.Spec.Type = kind }
}

func withIP(ip string) func(*corev1.Service) {
	return func(svc *corev1.Service) { svc.Spec.ClusterIP = ip }
}

func withNodePort(port int32) func(*corev1.Service) {
	return func(svc *corev1.Service) {
		svc.Spec.Type, svc.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, port
	}
}

func (s server) try(t *testing.T, ctx context.Context, svc *corev1.Service, dryRun ...string) (*corev1.Service, error) {
	obj, err := s.Create(ctx, svc, rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return builtintest.Own[*corev1.Service](t, obj), nil
}

func (s server) create(t *testing.T, svc *corev1.Service, dryRun ...string) *corev1.Service {
	t.Helper()
	created, err := s.try(t, builtintest.Context(t, "default"), svc, dryRun...)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func (s server) update(t *testing.T, svc *corev1.Service, dryRun ...string) (*corev1.Service, error) {
	t.Helper()
	obj, _, err := s.Update(builtintest.Context(t, "default"), svc.Name, rest.DefaultUpdatedObjectInfo(builtintest.Defaulted(svc)), rest.UpdateAdmission{}, &metav1.UpdateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return builtintest.Own[*corev1.Service](t, obj), nil
}

func (s server) remove(t *testing.T, name string, dryRun ...string) {
	t.Helper()
	_, _, err := s.Delete(builtintest.Context(t, "default"), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: dryRun})
	if err != nil {
		t.Fatal(err)
	}
}

// takenIPs are the addresses that are taken, counted from 10.96.0.1.
func (s server) takenIPs(t *testing.T) []int {
	t.Helper()
	answer, err := s.etcd.Client.Get(t.Context(), s.etcd.Prefix+"/ipaddresses/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, kv := range answer.Kvs {
		ip := netip.MustParseAddr(strings.TrimPrefix(string(kv.Key), s.etcd.Prefix+"/ipaddresses/")).As4()
		all = append(all, (int(ip[2])<<8|int(ip[3]))-1)
	}
	slices.Sort(all)
	return all
}

// takenPorts are the node ports that are taken, counted from 30000.
func (s server) takenPorts(t *testing.T) []int {
	t.Helper()
	answer, err := s.etcd.Client.Get(t.Context(), s.etcd.Prefix+"/ranges/servicenodeports")
	if err != nil {
		t.Fatal(err)
	}
	if answer.Count == 0 {
		return nil
	}
	if !bytes.HasPrefix(answer.Kvs[0].Value, []byte("k8s\x00")) {
		t.Fatalf("the ports are stored as %q", answer.Kvs[0].Value)
	}
	obj, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), answer.Kvs[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	bits := new(big.Int).SetBytes(obj.(*corev1.RangeAllocation).Data)
	var all []int
	for i := range bits.BitLen() {
		if bits.Bit(i) == 1 {
			all = append(all, i)
		}
	}
	return all
}

func (s server) wantTaken(t *testing.T, ips, ports []int) {
	t.Helper()
	if got := s.takenIPs(t); !slices.Equal(got, ips) {
		t.Errorf("cluster IPs taken: %v, want %v", got, ips)
	}
	if got := s.takenPorts(t); !slices.Equal(got, ports) {
		t.Errorf("node ports taken: %v, want %v", got, ports)
	}
}

func TestCreateAllocates(t *testing.T) {
	s := newServer(t, builtintest.NewEtcd(t))
	for _, tc := range []struct {
		svc      *corev1.Service
		ip       string
		families []corev1.IPFamily
		policy   string
		nodePort int32
	}{
		{web("first"), "10.96.1.1", []corev1.IPFamily{"IPv4"}, "SingleStack", 0},
		{web("second"), "10.96.1.2", []corev1.IPFamily{"IPv4"}, "SingleStack", 0},
		{web("asked", withIP("10.96.0.10")), "10.96.0.10", []corev1.IPFamily{"IPv4"}, "SingleStack", 0},
		{web("headless", withIP("None")), "None", []corev1.IPFamily{"IPv4"}, "SingleStack", 0},
		{web("bare", withIP("None"), func(svc *corev1.Service) { svc.Spec.Selector = nil }), "None",
			[]corev1.IPFamily{"IPv4", "IPv6"}, "RequireDualStack", 0},
		{web("node", ofType("NodePort")), "10.96.1.3", []corev1.IPFamily{"IPv4"}, "SingleStack", 30086},
		{web("asked-port", withNodePort(30010)), "10.96.1.4", []corev1.IPFamily{"IPv4"}, "SingleStack", 30010},
		{web("balanced", ofType("LoadBalancer")), "10.96.1.5", []corev1.IPFamily{"IPv4"}, "SingleStack", 30087},
		{web("prefer", func(svc *corev1.Service) { svc.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyPreferDualStack) }), "10.96.1.6",
			[]corev1.IPFamily{"IPv4"}, "PreferDualStack", 0},
	} {
		got := s.create(t, tc.svc)
		if got.Spec.ClusterIP != tc.ip || !slices.Equal(got.Spec.ClusterIPs, []string{tc.ip}) ||
			!slices.Equal(got.Spec.IPFamilies, tc.families) || string(*got.Spec.IPFamilyPolicy) != tc.policy ||
			got.Spec.Ports[0].NodePort != tc.nodePort {
			t.Errorf("%s: %+v", got.Name, got.Spec)
		}
	}
	s.wantTaken(t, []int{9, 256, 257, 258, 259, 260, 261}, []int{10, 86, 87})

	name := s.create(t, web("name", ofType("ExternalName"), func(svc *corev1.Service) { svc.Spec.ExternalName = "example.com" }))
	if name.Spec.ClusterIP != "" || name.Spec.IPFamilies != nil || name.Spec.IPFamilyPolicy != nil {
		t.Errorf("external name: %+v", name.Spec)
	}
}

func TestHealthCheckAndSharedNodePort(t *testing.T) {
	s := newServer(t, builtintest.NewEtcd(t))
	local := s.create(t, web("local", ofType("LoadBalancer"), func(svc *corev1.Service) { svc.Spec.ExternalTrafficPolicy = "Local" }))
	if local.Spec.HealthCheckNodePort != 30087 || local.Spec.Ports[0].NodePort != 30086 {
		t.Errorf("local: %+v", local.Spec)
	}
	dns := s.create(t, web("dns", ofType("NodePort"), func(svc *corev1.Service) {
		svc.Spec.Ports = []corev1.ServicePort{{Name: "tcp", Port: 53}, {Name: "udp", Port: 53, Protocol: "UDP"}}
	}))
	if p := dns.Spec.Ports; p[0].NodePort != 30088 || p[1].NodePort != 30088 {
		t.Errorf("dns: %+v", p)
	}
	without := s.create(t, web("without", ofType("LoadBalancer"), func(svc *corev1.Service) { svc.Spec.AllocateLoadBalancerNodePorts = new(false) }))
	if without.Spec.Ports[0].NodePort != 0 {
		t.Errorf("without: %+v", without.Spec)
	}
	s.remove(t, "local")
	s.remove(t, "dns")
	s.wantTaken(t, []int{258}, nil)
}

func TestCreateRefusesAndGivesBack(t *testing.T) {
	s := newServer(t, builtintest.NewEtcd(t))
	s.create(t, web("taken", withNodePort(30005), withIP("10.96.0.10")))
	ipTaken := `Service "x" is invalid: spec.clusterIPs: Invalid value: ["%[1]s"]: failed to allocate IP %[1]s: `
	for name, tc := range map[string]struct {
		svc  *corev1.Service
		want string
	}{
		"IP taken":   {web("x", withIP("10.96.0.10")), fmt.Sprintf(ipTaken, "10.96.0.10") + "provided IP is already allocated"},
		"IP outside": {web("x", withIP("192.0.2.1")), fmt.Sprintf(ipTaken, "192.0.2.1") + "the provided network does not match the current range"},
		"port taken": {web("x", withNodePort(30005)), `Service "x" is invalid: spec.ports[0].nodePort: Invalid value: 30005: provided port is already allocated`},
		"port outside": {web("x", withNodePort(80)),
			`Service "x" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767`},
		"another family": {web("x", func(svc *corev1.Service) { svc.Spec.IPFamilies = []corev1.IPFamily{"IPv6"} }),
			`Service "x" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`},
		"IPv6": {web("x", withIP("fd00::1")), `Service "x" is invalid: spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster`},
		"two families": {web("x", func(svc *corev1.Service) { svc.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack) }),
			`Service "x" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`},
		"invalid": {web("x", ofType("NodePort"), func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 0 }),
			`Service "x" is invalid: [spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive, spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive]`},
	} {
		_, err := s.try(t, builtintest.Context(t, "default"), tc.svc)
		if !apierrors.IsInvalid(err) || err.Error() != tc.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, tc.want)
		}
	}
	if _, err := s.try(t, builtintest.Context(t, "default"), web("taken")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the same name: %v", err)
	}
	s.wantTaken(t, []int{9}, []int{5})
}

func TestDryRunTakesNothing(t *testing.T) {
	s := newServer(t, builtintest.NewEtcd(t))
	got := s.create(t, web("x", ofType("NodePort"), func(svc *corev1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "other", Port: 81})
	}), metav1.DryRunAll)
	if p := got.Spec.Ports; got.Spec.ClusterIP != "10.96.0.0" || p[0].NodePort != 32769 || p[1].NodePort != 32770 {
		t.Errorf("dry run: %+v", got.Spec)
	}
	for ip, want := range map[string]string{
		"10.96.0.10": "",
		"192.0.2.1": `Service "y" is invalid: spec.clusterIPs: Invalid value: ["192.0.2.1"]: failed to allocate IP 192.0.2.1: ` +
			"the provided IP (192.0.2.1) is not in the valid range. The range of valid IPs is 10.96.0.0/12",
	} {
		_, err := s.try(t, builtintest.Context(t, "default"), web("y", withIP(ip)), metav1.DryRunAll)
		if fmt.Sprint(err) != cmp.Or(want, "<nil>") {
			t.Errorf("dry run with %s: %v", ip, err)
		}
	}
	if answer, err := s.etcd.Client.Get(t.Context(), s.etcd.Prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil || answer.Count != 0 {
		t.Errorf("a dry run wrote %d keys (%v)", answer.Count, err)
	}

	svc := s.create(t, web("x"))
	s.remove(t, "x", metav1.DryRunAll)
	svc.Spec.Type = corev1.ServiceTypeNodePort
	if _, err := s.update(t, svc.DeepCopy(), metav1.DryRunAll); err != nil {
		t.Error(err)
	}
	s.wantTaken(t, []int{256}, nil)
}

// Entries of one port share a node port, whatever their protocols. Those of two ports can't.
func TestNodePortsOfTwoPorts(t *testing.T) {
	s := newServer(t, builtintest.NewEtcd(t))
	both := func(port int32, protocol corev1.Protocol) func(*corev1.Service) {
		return func(svc *corev1.Service) {
			svc.Spec.Ports[0].NodePort = 30100
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "other", Port: port, Protocol: protocol, NodePort: 30100})
		}
	}
	for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
		_, err := s.try(t, builtintest.Context(t, "default"), web("two", ofType("NodePort"), both(81, "UDP")), dryRun...)
		want := `Service "two" is invalid: spec.ports[1].nodePort: Invalid value: 30100: provided port is already allocated`
		if err == nil || err.Error() != want {
			t.Errorf("dry run %v: got %v, want %s", dryRun, err, want)
		}
	}
	svc := s.create(t, web("two", ofType("NodePort"), both(80, "UDP")))
	s.wantTaken(t, []int{256}, []int{100})
	svc.Spec.Ports[1].Protocol = "TCP"
	const want = "duplicate nodePort: {TCP 30100}"
	if _, err := s.update(t, svc); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	s.wantTaken(t, []int{256}, []int{100})
}

func TestUpdate(t *testing.T) {
	s := newServer(t, builtintest.NewEtcd(t))
	svc := s.create(t, web("x"))

	// The manifest that it was made of may be put again, and changes nothing that was allocated.
	again, err := s.update(t, web("x", ofType("NodePort")))
	if err != nil {
		t.Fatal(err)
	}
	if again.Spec.ClusterIP != svc.Spec.ClusterIP || again.Spec.Ports[0].NodePort != 30086 {
		t.Errorf("%+v", again.Spec)
	}
	kept, err := s.update(t, web("x", ofType("NodePort")))
	if err != nil {
		t.Fatal(err)
	}
	if kept.ResourceVersion != again.ResourceVersion {
		t.Error("an update that changes nothing was written")
	}
	s.wantTaken(t, []int{256}, []int{86})

	// Another node port, then none, then no address either.
	if again, err = s.update(t, web("x", withNodePort(30001))); err != nil {
		t.Fatal(err)
	}
	s.wantTaken(t, []int{256}, []int{1})
	again.Spec.Type = corev1.ServiceTypeClusterIP
	if again, err = s.update(t, again); err != nil {
		t.Fatal(err)
	}
	if again.Spec.Ports[0].NodePort != 0 || again.Spec.ExternalTrafficPolicy != "" {
		t.Errorf("%+v", again.Spec)
	}
	s.wantTaken(t, []int{256}, nil)
	again.Spec.Type, again.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
	if again, err = s.update(t, again); err != nil {
		t.Fatal(err)
	}
	if again.Spec.ClusterIP != "" || again.Spec.IPFamilies != nil {
		t.Errorf("%+v", again.Spec)
	}
	s.wantTaken(t, nil, nil)
	again.Spec.Type, again.Spec.ExternalName = corev1.ServiceTypeClusterIP, ""
	if again, err = s.update(t, again); err != nil {
		t.Fatal(err)
	}
	if again.Spec.ClusterIP != "10.96.1.1" {
		t.Errorf("%+v", again.Spec)
	}

	// A refused update gives back what it took.
	bad := web("x", ofType("NodePort"), func(svc *corev1.Service) { svc.Spec.ClusterIP = "10.96.1.9" })
	_, err = s.update(t, bad)
	want := `Service "x" is invalid: spec.clusterIPs[0]: Invalid value: ["10.96.1.9"]: may not change once set`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	s.wantTaken(t, []int{256}, nil)
}

func TestStatusUpdateAllocatesNothing(t *testing.T) {
	s := newServer(t, builtintest.NewEtcd(t))
	svc := s.create(t, web("x", ofType("LoadBalancer")))
	svc.Spec.Ports[0].NodePort = 30001
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	obj, _, err := s.status.Update(builtintest.Context(t, "default"), "x", rest.DefaultUpdatedObjectInfo(builtintest.Defaulted(svc)), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := builtintest.Own[*corev1.Service](t, obj)
	if got.Spec.Ports[0].NodePort != 30086 || len(got.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("%+v", got)
	}
	s.wantTaken(t, []int{256}, []int{86})
}

func TestPutCreates(t *testing.T) {
	s := newServer(t, builtintest.NewEtcd(t))
	got, err := s.update(t, web("x"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.ClusterIP != "10.96.1.1" {
		t.Errorf("%+v", got.Spec)
	}
	s.wantTaken(t, []int{256}, nil)
}

func TestFinalizersKeepWhatIsAllocated(t *testing.T) {
	s := newServer(t, builtintest.NewEtcd(t))
	s.create(t, web("x", func(svc *corev1.Service) { svc.Finalizers = []string{"example.com/wait"} }))
	s.remove(t, "x")
	s.wantTaken(t, []int{256}, nil)
	obj, err := s.Get(builtintest.Context(t, "default"), "x", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	svc := builtintest.Own[*corev1.Service](t, obj)
	svc.Finalizers = nil
	if _, err := s.update(t, svc); err != nil {
		t.Fatal(err)
	}
	s.wantTaken(t, nil, nil)
}
