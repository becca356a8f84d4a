package controller_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/controller/lease"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func startLease(t *testing.T, etcds ...string) (c *kubernetes.Clientset, stop func()) {
	t.Helper()
	o := withAll()
	clients, stop := controllertest.Serve(t, o, "", etcds...)
	return clients.Clientset, stop
}

// leaseStatus is what a server says of one of its controllers.
func leaseStatus(t *testing.T, c *kubernetes.Clientset) *v1alpha1.StructureController {
	t.Helper()
	raw, err := c.RESTClient().Get().AbsPath("/apis/kx.dev/v1alpha1/structure/controller:" + controller.Garbage).DoRaw(t.Context())
	s := &v1alpha1.Structure{}
	if err == nil {
		err = json.Unmarshal(raw, s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Spec.Controller
}

func garbageReady(t *testing.T, c *kubernetes.Clientset) bool {
	t.Helper()
	raw, err := c.RESTClient().Get().AbsPath("/readyz/controller/" + controller.Garbage).DoRaw(t.Context())
	return err == nil && string(raw) == "ok"
}

// leaseCascade deletes an owner and waits for the end of its dependent.
func leaseCascade(t *testing.T, c *kubernetes.Clientset, name string) {
	t.Helper()
	maps := c.CoreV1().ConfigMaps("default")
	owner, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-child", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, name+"'s dependent goes", func() bool {
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if list.Items[i].Name == name+"-child" {
				return false
			}
		}
		return true
	})
}

// TestLeaseOneOfTwo: of two servers on one etcd one runs the controllers, and the other one does when the first has stopped.
func TestLeaseOneOfTwo(t *testing.T) {
	t.Parallel()
	etcd, _ := controllertest.Etcd(t)
	first, stop := startLease(t, etcd)
	eventually(t, "the first server runs the controllers", func() bool {
		return leaseStatus(t, first).State == v1alpha1.ControllerRunning && garbageReady(t, first)
	})
	second, _ := startLease(t, etcd)
	holder := leaseStatus(t, first).Holder
	eventually(t, "the second server knows who does", func() bool {
		s := leaseStatus(t, second)
		return s.State == v1alpha1.ControllerElsewhere && s.Holder == holder && garbageReady(t, second)
	})
	leaseCascade(t, second, "a")
	held, err := second.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), lease.Name, metav1.GetOptions{})
	if err != nil || *held.Spec.HolderIdentity != holder {
		t.Errorf("%+v, %v", held, err)
	}
	stop()
	eventually(t, "the second server runs them", func() bool {
		s := leaseStatus(t, second)
		return s.State == v1alpha1.ControllerRunning && s.Holder != holder
	})
	leaseCascade(t, second, "b")
}

// TestLeaseDamaged: where the Lease can't be read, the server says which key that is. It runs the controllers when the key is gone.
func TestLeaseDamaged(t *testing.T) {
	t.Parallel()
	etcd, stored := controllertest.Etcd(t)
	key := "/registry/leases/" + metav1.NamespaceSystem + "/" + lease.Name
	if _, err := stored.Put(t.Context(), key, "it was a Lease"); err != nil {
		t.Fatal(err)
	}
	c, _ := startLease(t, etcd)
	eventually(t, "it says what it can't read", func() bool {
		raw, _ := c.RESTClient().Get().AbsPath("/readyz/controller/" + controller.Garbage).DoRaw(t.Context())
		return strings.Contains(string(raw), "who holds their Lease: ") && strings.Contains(string(raw), strings.TrimPrefix(key, "/registry"))
	})
	if _, err := stored.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs the controllers", func() bool { return leaseStatus(t, c).State == v1alpha1.ControllerRunning && garbageReady(t, c) })
	leaseCascade(t, c, "a")
}

// TestLeaseAlone: a server that nobody shares an etcd with writes no Lease, and tells of a kube-controller-manager that comes.
func TestLeaseAlone(t *testing.T) {
	t.Parallel()
	c, _ := startLease(t)
	eventually(t, "the controllers run", func() bool { return garbageReady(t, c) })
	if s := leaseStatus(t, c); s.State != v1alpha1.ControllerRunning || s.Holder != "" || s.Other != "" {
		t.Errorf("%+v", s)
	}
	leases := c.CoordinationV1().Leases(metav1.NamespaceSystem)
	if list, err := leases.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
	spec := func(holder string, renewed time.Time) coordinationv1.LeaseSpec {
		return coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: renewed}}
	}
	// Its clock may be another one: what counts is that it has just written.
	made, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-controller-manager"}, Spec: spec("manager-1", time.Now().Add(-time.Hour))}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is told of", func() bool { return leaseStatus(t, c).Other == "manager-1" })
	made.Spec = spec("", time.Now())
	if _, err := leases.Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has gone", func() bool { return leaseStatus(t, c).Other == "" })
}
