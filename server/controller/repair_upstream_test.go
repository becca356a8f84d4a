package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

type repairStage struct{ *controllertest.Stage }

// service makes a service with an address, and with a node port unless that is 0.
func (s repairStage) service(name, ip string, nodePort int32) {
	s.T.Helper()
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80, NodePort: nodePort}}},
	}
	if nodePort != 0 {
		svc.Spec.Type = corev1.ServiceTypeNodePort
	}
	must[*corev1.Service](s.T)(s.CoreV1().Services(s.Namespace).Create(s.T.Context(), svc, metav1.CreateOptions{}))
}

func (s repairStage) put(key, value string) {
	s.T.Helper()
	if _, err := s.Etcd.Put(s.T.Context(), "/registry/"+key, value); err != nil {
		s.T.Fatal(err)
	}
}

// stored stores a service that nobody has given its address and its node port.
func (s repairStage) stored(name, ip string, nodePort int32) {
	s.T.Helper()
	kind, node := "ClusterIP", ""
	if nodePort != 0 {
		kind, node = "NodePort", fmt.Sprintf(`,"nodePort":%d`, nodePort)
	}
	s.put("services/specs/"+s.Namespace+"/"+name, fmt.Sprintf(`{"apiVersion":"v1","kind":"Service",
		"metadata":{"name":%q,"namespace":%q,"uid":"00000000-0000-0000-0000-00000000000%d","creationTimestamp":"2026-01-01T00:00:00Z"},
		"spec":{"type":%q,"clusterIP":%q,"clusterIPs":[%q],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","sessionAffinity":"None",
			"internalTrafficPolicy":"Cluster","ports":[{"port":80,"protocol":"TCP","targetPort":80%s}]}}`, name, s.Namespace, len(name), kind, ip, ip, node))
}

// address stores an IPAddress that is old enough to go.
func (s repairStage) address(ip, group, resource, name, managedBy string) {
	s.T.Helper()
	s.put("ipaddresses/"+ip, fmt.Sprintf(`{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress",
		"metadata":{"name":%q,"uid":"00000000-0000-0000-0000-000000000000","creationTimestamp":"2026-01-01T00:00:00Z",
			"labels":{"ipaddress.kubernetes.io/managed-by":%q,"ipaddress.kubernetes.io/ip-family":"IPv4"}},
		"spec":{"parentRef":{"group":%q,"resource":%q,"namespace":%q,"name":%q}}}`, ip, managedBy, group, resource, s.Namespace, name))
}

const (
	otherManager = "somebody.example.com"
)

// repairScenes have addresses and ports that no other scene has. The addresses are those of the default range that a server gives last.
var repairScenes = map[string]func(s repairStage){
	"nothing is wrong": func(s repairStage) { s.service("web", "10.110.0.1", 30501) },
	"an address is missing": func(s repairStage) {
		s.service("web", "10.110.0.2", 0)
		if err := s.NetworkingV1().IPAddresses().Delete(s.T.Context(), "10.110.0.2", metav1.DeleteOptions{}); err != nil {
			s.T.Fatal(err)
		}
	},
	"a service was stored without its address": func(s repairStage) { s.stored("web", "10.110.0.3", 0) },
	"an address lacks a label": func(s repairStage) {
		s.service("web", "10.110.0.4", 0)
		must[*networkingv1.IPAddress](s.T)(s.NetworkingV1().IPAddresses().Patch(s.T.Context(), "10.110.0.4", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"ipaddress.kubernetes.io/ip-family":null}}}`), metav1.PatchOptions{}))
	},
	"an address is managed by another one": func(s repairStage) {
		s.service("web", "10.110.0.5", 0)
		must[*networkingv1.IPAddress](s.T)(s.NetworkingV1().IPAddresses().Patch(s.T.Context(), "10.110.0.5", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"ipaddress.kubernetes.io/managed-by":"`+otherManager+`"}}}`), metav1.PatchOptions{}))
	},
	"an address names another kind": func(s repairStage) {
		s.service("web", "10.110.0.6", 0)
		s.address("10.110.0.6", "gateway.networking.k8s.io", "gateways", "web", otherManager)
	},
	"an address names a service that is not there": func(s repairStage) {
		s.service("web", "10.110.0.7", 0)
		s.address("10.110.0.7", "", "services", "nobody", otherManager)
	},
	"an address names a service that has another one": func(s repairStage) {
		s.service("other", "10.110.0.9", 0)
		s.service("web", "10.110.0.8", 0)
		s.address("10.110.0.8", "", "services", "other", otherManager)
	},
	"an address of the allocator names another kind": func(s repairStage) {
		s.address("10.110.0.10", "gateway.networking.k8s.io", "gateways", "web", allocator)
	},
	"an address has no service":                  func(s repairStage) { s.address("10.110.0.11", "", "services", "nobody", allocator) },
	"an address of somebody else has no service": func(s repairStage) { s.address("10.110.0.12", "", "services", "nobody", otherManager) },
	"a service has another address": func(s repairStage) {
		s.service("web", "10.110.0.13", 0)
		s.address("10.110.0.14", "", "services", "web", allocator)
	},
	"two services have an address": func(s repairStage) {
		s.service("a", "10.110.0.15", 0)
		s.stored("bb", "10.110.0.15", 0)
	},
	"an address is in no range":  func(s repairStage) { s.stored("web", "172.31.0.1", 0) },
	"an address cannot be given": func(s repairStage) { s.stored("web", "10.96.0.0", 0) },
	"an address is no address":   func(s repairStage) { s.stored("web", "nonsense", 0) },
	"a port is not marked":       func(s repairStage) { s.stored("web", "None", 30502) },
	"two services have a port": func(s repairStage) {
		s.service("a", "10.110.0.16", 30503)
		s.stored("bb", "None", 30503)
	},
	"a port is in no range": func(s repairStage) { s.stored("web", "None", 20000) },
}

// repairState has the services with their addresses and ports, the IPAddresses that name something in the namespace, and the events about
// them.
func repairState(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	ctx := s.T.Context()
	for _, svc := range must[*corev1.ServiceList](s.T)(s.CoreV1().Services(s.Namespace).List(ctx, metav1.ListOptions{})).Items {
		line := fmt.Sprintf("service %s %s %v", svc.Name, svc.Spec.Type, svc.Spec.ClusterIPs)
		for _, p := range svc.Spec.Ports {
			if p.NodePort != 0 {
				again := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "again"}, Spec: svc.Spec}
				again.Spec.ClusterIP, again.Spec.ClusterIPs = corev1.ClusterIPNone, nil
				_, err := s.CoreV1().Services(s.Namespace).Create(ctx, again, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				line += fmt.Sprintf(" port %d, for another one: %s", p.NodePort, controllertest.Refusal(err))
			}
		}
		lines = append(lines, line)
	}
	for _, ip := range must[*networkingv1.IPAddressList](s.T)(s.NetworkingV1().IPAddresses().List(ctx, metav1.ListOptions{})).Items {
		if ref := ip.Spec.ParentRef; ref.Namespace == s.Namespace {
			lines = append(lines, fmt.Sprintf("%s of %s%s %s %v", ip.Name, ref.Group, ref.Resource, ref.Name, ip.Labels))
		}
	}
	for _, e := range must[*corev1.EventList](s.T)(s.CoreV1().Events("").List(ctx, metav1.ListOptions{})).Items {
		about := e.InvolvedObject
		if about.Namespace == s.Namespace || strings.Contains(e.Message, s.Namespace) {
			lines = append(lines, fmt.Sprintf("event in %q about %s %s %s %s: %s %s %s %q source %q", e.Namespace, about.APIVersion, about.Kind, about.Namespace, about.Name,
				e.Type, e.Reason, e.Action, e.Message, e.ReportingController))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func startRepair(t *testing.T, dir string, etcds ...string) controllertest.Clients {
	t.Helper()
	o := options.New()
	o.Controllers = controller.Selection{controller.Namespace}
	clients, _ := controllertest.Serve(t, o, dir, etcds...)
	return clients
}

// TestRepairUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1, which looks at ports each 3 minutes.
func TestRepairUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{
		Answers: "repair.json", Play: map[string]func(*controllertest.Stage){}, State: repairState, Quiet: 200 * time.Second,
		// Its informers can know of a service before they know of its IPAddress: it tells of a trouble that was none.
		Differs: map[string]map[string]string{"an address names a service that has another one": {
			`event in "an-address-names-a-service-that-has-another-one" about v1 Service an-address-names-a-service-that-has-another-one other`: "",
		}},
	}
	for name, play := range repairScenes {
		all.Play[name] = func(s *controllertest.Stage) { play(repairStage{s}) }
	}
	all.Compare(t, func(t *testing.T) controllertest.Clients {
		clients := startRepair(t, "")
		// The first service that asks for an address has the allocator count them, which puts right, without an event, what it finds:
		// that is not to be something of a scene.
		first := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "first"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		must[*corev1.Service](t)(clients.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), first, metav1.CreateOptions{}))
		return clients
	})
}
