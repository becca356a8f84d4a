package controller_test

import (
	"testing"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func startCIDRs(t *testing.T, dir string, etcds ...string) cidrStage {
	t.Helper()
	o := withAll()
	o.Controllers = controller.Selection{controller.Namespace, "service-cidr-controller"}
	clients, _ := controllertest.Serve(t, o, dir, etcds...)
	return cidrStage{(&controllertest.Scenes{State: cidrState}).Stage(t, clients, "default")}
}

// TestServiceCIDROdd has a range and an address that can't be read, and a range of nothing. While an address can't be read no range goes
// that it may be in.
func TestServiceCIDROdd(t *testing.T) {
	t.Parallel()
	s := startCIDRs(t, "")
	put := func(key, value string) {
		t.Helper()
		if _, err := s.Etcd.Put(t.Context(), "/registry/"+key, value); err != nil {
			t.Fatal(err)
		}
	}
	put("servicecidrs/default-nothing", `{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"default-nothing","uid":"1"},"spec":{"cidrs":["nonsense"]}}`)
	put("ipaddresses/nonsense", `{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"nonsense","uid":"1",
		"labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"}}}`)
	s.create("one", "172.16.0.0/24")
	s.address("172.16.0.5", allocator)
	s.remove("one")
	s.AwaitPart(`one [172.16.0.0/24] has networking.k8s.io/service-cidr-finalizer deleted Ready=False "Terminating"`)
	put("servicecidrs/damaged", "k8s\x00\xff\xff")
	put("ipaddresses/172.16.0.6", "k8s\x00\xff\xff")
	s.free("172.16.0.5")
	for _, key := range []string{"servicecidrs/damaged", "ipaddresses/172.16.0.6"} {
		if _, err := s.Etcd.Delete(t.Context(), "/registry/"+key); err != nil {
			t.Fatal(err)
		}
	}
	s.AwaitNot("one [")
}

// TestServiceCIDRTwo has two servers on one etcd.
func TestServiceCIDRTwo(t *testing.T) {
	t.Parallel()
	s := startCIDRs(t, "")
	other := startCIDRs(t, "", s.Etcd.Endpoints()...)
	s.create("one", "172.16.0.0/24")
	other.create("two", "172.16.1.0/24")
	s.address("172.16.1.5", allocator)
	s.remove("one")
	s.remove("two")
	s.AwaitPart(`two [172.16.1.0/24] has networking.k8s.io/service-cidr-finalizer deleted Ready=False "Terminating"`)
	other.free("172.16.1.5")
	s.AwaitNot("one [")
	s.AwaitNot("two [")
}
