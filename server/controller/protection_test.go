package controller_test

import (
	"fmt"
	"testing"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func startProtection(t *testing.T, dir string, controllers []string, etcds ...string) (s protectionStage, stop func()) {
	t.Helper()
	o := withAll()
	o.Controllers = controllers
	clients, stop := controllertest.Serve(t, o, dir, etcds...)
	return protectionStage{(&controllertest.Scenes{State: protectionState}).Stage(t, clients, "default")}, stop
}

// gone waits until a claim is.
func (s protectionStage) gone(claim string) {
	s.T.Helper()
	s.AwaitNot("claim " + claim + " ")
}

// TestProtectionOdd has a pod that can't be read: it may name any claim of its namespace, so none goes before it does.
func TestProtectionOdd(t *testing.T) {
	t.Parallel()
	s, _ := startProtection(t, "", []string{"*"})
	put := func(key, value string) {
		t.Helper()
		if _, err := s.Etcd.Put(t.Context(), "/registry/"+key, value); err != nil {
			t.Fatal(err)
		}
	}
	put("persistentvolumeclaims/kube-system/damaged", "k8s\x00\xff\xff")
	put("persistentvolumes/damaged", "")
	put("pods/default/damaged", "k8s\x00\xff\xff")
	s.claim("a", "")
	s.volume("free", "")
	s.AwaitPart("claim a Pending, has kubernetes.io/pvc-protection")
	s.AwaitPart("volume default-free Available, has kubernetes.io/pv-protection")
	s.removeVolume("free")
	s.AwaitNot("volume default-free ")
	s.remove("a")
	s.AwaitPart("claim a Pending deleted, has kubernetes.io/pvc-protection")
	if _, err := s.Etcd.Delete(t.Context(), "/registry/pods/default/damaged"); err != nil {
		t.Fatal(err)
	}
	s.gone("a")
}

// TestProtectionRestart has the last pod of a claim go while nobody looks.
func TestProtectionRestart(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	s, stop := startProtection(t, dir, []string{"*"})
	s.claim("a", "")
	s.pod("pod", someNode, "a")
	s.AwaitPart("claim a Pending, has kubernetes.io/pvc-protection")
	s.remove("a")
	s.AwaitPart("claim a Pending deleted")
	stop()
	s, stop = startProtection(t, dir, []string{"*", "-pvc-protection"})
	s.removePod("pod")
	s.AwaitPart("claim a Pending deleted")
	stop()
	s, _ = startProtection(t, dir, []string{"*"})
	s.gone("a")
}

// TestProtectionTwo has two servers on one etcd.
func TestProtectionTwo(t *testing.T) {
	t.Parallel()
	s, _ := startProtection(t, "", []string{"*"})
	startProtection(t, "", []string{"*"}, s.Etcd.Endpoints()...)
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("c", i))
		s.claim(names[i], "")
		s.AwaitPart("claim " + names[i] + " Pending, has kubernetes.io/pvc-protection")
	}
	s.pod("pod", someNode, names...)
	s.remove(names...)
	s.AwaitPart("claim c9 Pending deleted")
	s.removePod("pod")
	for _, name := range names {
		s.gone(name)
	}
}
