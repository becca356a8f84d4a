package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

type cidrStage struct{ *controllertest.Stage }

func (s cidrStage) create(name string, cidrs ...string) {
	s.T.Helper()
	must[*networkingv1.ServiceCIDR](s.T)(s.NetworkingV1().ServiceCIDRs().Create(s.T.Context(), &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs},
	}, metav1.CreateOptions{}))
	s.AwaitPart(name + " [" + strings.Join(cidrs, " ") + "] has networking.k8s.io/service-cidr-finalizer Ready=True")
}

// address makes an address as services have it, or one of somebody else.
func (s cidrStage) address(address, managedBy string) {
	s.T.Helper()
	family := "IPv4"
	if strings.Contains(address, ":") {
		family = "IPv6"
	}
	must[*networkingv1.IPAddress](s.T)(s.NetworkingV1().IPAddresses().Create(s.T.Context(), &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: address, Labels: map[string]string{
			networkingv1.LabelManagedBy: managedBy, networkingv1.LabelIPAddressFamily: family,
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: s.Namespace, Name: "some"}},
	}, metav1.CreateOptions{}))
}

func (s cidrStage) free(address string) {
	s.T.Helper()
	if err := s.NetworkingV1().IPAddresses().Delete(s.T.Context(), address, metav1.DeleteOptions{}); err != nil {
		s.T.Fatal(err)
	}
}

func (s cidrStage) remove(name string) {
	s.T.Helper()
	if err := s.NetworkingV1().ServiceCIDRs().Delete(s.T.Context(), s.Namespace+"-"+name, metav1.DeleteOptions{}); err != nil {
		s.T.Fatal(err)
	}
}

// cidrScenes have addresses that no other scene has.
var cidrScenes = map[string]func(s cidrStage){
	"ready": func(s cidrStage) {
		s.create("one", "172.16.0.0/24")
		s.create("two", "172.16.1.0/24", "fd16::/112")
	},
	"finalizer and condition come back": func(s cidrStage) {
		s.create("one", "172.17.0.0/24")
		must[*networkingv1.ServiceCIDR](s.T)(s.NetworkingV1().ServiceCIDRs().Patch(s.T.Context(), s.Namespace+"-one",
			types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/held"]}}`), metav1.PatchOptions{}))
		must[*networkingv1.ServiceCIDR](s.T)(s.NetworkingV1().ServiceCIDRs().Patch(s.T.Context(), s.Namespace+"-one", types.MergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"Mine","message":"m","lastTransitionTime":"2020-01-01T00:00:00Z"},
				{"type":"Other","status":"True","reason":"Mine","message":"m","lastTransitionTime":"2020-01-01T00:00:00Z"}]}}`), metav1.PatchOptions{}, "status"))
	},
	"unused": func(s cidrStage) {
		s.create("one", "172.18.0.0/24")
		s.address("172.18.0.5", "somebody.example.com")
		s.address("172.18.0.0", allocator)
		s.address("172.18.0.255", allocator)
		s.address("172.18.1.1", allocator)
		s.remove("one")
	},
	"used": func(s cidrStage) {
		s.create("four", "172.19.0.0/24")
		s.create("six", "fd19::/112")
		s.create("both", "172.19.1.0/24", "fd19:1::/112")
		s.address("172.19.0.5", allocator)
		s.address("fd19::5", allocator)
		s.address("fd19:1::5", allocator)
		s.remove("four")
		s.remove("six")
		s.remove("both")
	},
	"freed": func(s cidrStage) {
		s.create("one", "172.20.0.0/24")
		s.address("172.20.0.5", allocator)
		s.remove("one")
		s.AwaitPart("Ready=False")
		s.free("172.20.0.5")
	},
	"another range has its addresses": func(s cidrStage) {
		s.create("all", "172.21.0.0/16")
		s.create("part", "172.21.1.0/24")
		s.create("same", "172.21.1.0/24")
		s.address("172.21.1.5", allocator)
		s.remove("part")
		s.remove("same")
	},
	"another range has some of its addresses": func(s cidrStage) {
		s.create("all", "172.22.0.0/16")
		s.create("part", "172.22.1.0/24")
		s.address("172.22.1.5", allocator)
		s.remove("all")
	},
	"another range has not all of its addresses": func(s cidrStage) {
		s.create("all", "172.23.0.0/16")
		s.create("part", "172.23.1.0/24")
		s.address("172.23.1.0", allocator)
		s.remove("all")
	},
	"a range comes to its help": func(s cidrStage) {
		s.create("one", "172.24.0.0/24")
		s.address("172.24.0.5", allocator)
		s.remove("one")
		s.AwaitPart("Ready=False")
		s.create("all", "172.24.0.0/16")
	},
}

func cidrState(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	for _, r := range must[*networkingv1.ServiceCIDRList](s.T)(s.NetworkingV1().ServiceCIDRs().List(s.T.Context(), metav1.ListOptions{})).Items {
		name, ok := strings.CutPrefix(r.Name, s.Namespace+"-")
		if !ok {
			continue
		}
		line := name + " [" + strings.Join(r.Spec.CIDRs, " ") + "] has " + strings.Join(slices.Sorted(slices.Values(r.Finalizers)), " ")
		if r.DeletionTimestamp != nil {
			line += " deleted"
		}
		for _, c := range r.Status.Conditions {
			line += fmt.Sprintf(" %s=%s %q %q", c.Type, c.Status, c.Reason, c.Message)
		}
		for _, owner := range r.ManagedFields {
			if owner.Operation == metav1.ManagedFieldsOperationApply || owner.Subresource != "" {
				line += fmt.Sprintf("; %s %s %s %s", owner.Manager, owner.Operation, owner.Subresource, owner.FieldsV1.GetRawBytes())
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// TestServiceCIDRUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestServiceCIDRUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{
		Answers: "servicecidr.json", Play: map[string]func(*controllertest.Stage){}, State: cidrState, Quiet: 14 * time.Second,
	}
	for name, play := range cidrScenes {
		all.Play[name] = func(s *controllertest.Stage) { play(cidrStage{s}) }
	}
	all.Compare(t, func(t *testing.T) controllertest.Clients {
		o := withAll()
		o.Controllers = controller.Selection{controller.Namespace, "service-cidr-controller"}
		clients, _ := controllertest.Serve(t, o, "")
		return clients
	})
}
