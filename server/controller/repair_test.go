package controller_test

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func repairStageOf(t *testing.T, clients controllertest.Clients) repairStage {
	return repairStage{(&controllertest.Scenes{State: repairState}).Stage(t, clients, "default")}
}

// TestRepairStart has what is stored put right when a server starts.
func TestRepairStart(t *testing.T) {
	t.Parallel()
	s := repairStageOf(t, startRepair(t, ""))
	s.service("web", "10.110.1.1", 30601)
	for _, key := range []string{"ipaddresses/10.110.1.1", "ranges/servicenodeports"} {
		if _, err := s.Etcd.Delete(t.Context(), "/registry/"+key); err != nil {
			t.Fatal(err)
		}
	}
	s.AwaitPart("ClusterIPNotAllocated")
	s.AwaitPart("PortNotAllocated")
	other := repairStageOf(t, startRepair(t, "", s.Etcd.Endpoints()...))
	other.AwaitPart(`port 30601, for another one: 422`)
	other.AwaitPart("10.110.1.1 of services web")
}

// TestRepairOdd has objects that can't be read beside those that are put right, and an IPAddress whose service may be about to come.
func TestRepairOdd(t *testing.T) {
	t.Parallel()
	s := repairStageOf(t, startRepair(t, ""))
	for _, key := range []string{"services/specs/default/damaged", "ipaddresses/10.110.1.2", "ipaddresses/nonsense", "servicecidrs/damaged", "ranges/other"} {
		s.put(key, "k8s\x00\xff\xff")
	}
	for _, key := range []string{"services/specs/default/damaged", "ipaddresses/10.110.1.2", "ipaddresses/nonsense", "servicecidrs/damaged"} {
		if _, err := s.Etcd.Delete(t.Context(), "/registry/"+key); err != nil {
			t.Fatal(err)
		}
	}
	must[*networkingv1.IPAddress](t)(s.NetworkingV1().IPAddresses().Create(t.Context(), &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: "10.110.1.3", Labels: map[string]string{
			networkingv1.LabelManagedBy: allocator, networkingv1.LabelIPAddressFamily: "IPv4",
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: s.Namespace, Name: "late"}},
	}, metav1.CreateOptions{}))
	s.stored("web", "10.110.1.4", 30602)
	s.AwaitPart("10.110.1.4 of services web")
	s.AwaitPart("PortNotAllocated")
	s.address("10.110.1.5", "", "services", "nobody", allocator)
	s.AwaitPart("10.110.1.5 for Service default/nobody appears to have leaked")
	s.AwaitPart("10.110.1.3 of services late")
}
