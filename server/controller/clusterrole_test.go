package controller_test

import (
	"fmt"
	"testing"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func startClusterRoles(t *testing.T, dir string, etcds ...string) (*controllertest.Stage, clusterRoles) {
	t.Helper()
	clients, _ := controllertest.Serve(t, withAll(), dir, etcds...)
	all := &controllertest.Scenes{State: func(s *controllertest.Stage) []string {
		return clusterRoles{Clientset: s.Clientset, t: s.T, prefix: s.Namespace}.state()
	}}
	stage := all.Stage(t, clients, "default")
	return stage, clusterRoles{clients.Clientset, t, "default", func(text string) { stage.AwaitPart(text) }}
}

// TestClusterRoleOdd has bytes that are no cluster role: rules stay as they are until these are gone. A selector that can't be parsed is
// nobody else's trouble.
func TestClusterRoleOdd(t *testing.T) {
	t.Parallel()
	s, c := startClusterRoles(t, "")
	put := func(name, value string) {
		t.Helper()
		if _, err := s.Etcd.Put(t.Context(), "/registry/clusterroles/"+name, value); err != nil {
			t.Fatal(err)
		}
	}
	put("default-selector", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"default-selector","uid":"1"},
		"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["kept"]}],
		"aggregationRule":{"clusterRoleSelectors":[{"matchExpressions":[{"key":"a","operator":"Nonsense"}]}]}}`)
	put("default-nothing", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"default-nothing","uid":"2"},"aggregationRule":{}}`)
	c.create("a", c.to("a"), may("get", "a"))
	c.aggregate("all", nil, nil, c.from("a"))
	c.until("default-all [get a];")
	put("default-damaged", "k8s\x00\xff\xff")
	put("default-empty", "")
	c.patch("a", `{"rules":[{"apiGroups":[""],"resources":["b"],"verbs":["get"]}]}`)
	for _, name := range []string{"damaged", "empty"} {
		if _, err := s.Etcd.Delete(t.Context(), "/registry/clusterroles/default-"+name); err != nil {
			t.Fatal(err)
		}
	}
	c.until("default-all [get b];")
	c.until("default-selector [get kept]")
}

// TestClusterRoleTwo has two servers on one etcd.
func TestClusterRoleTwo(t *testing.T) {
	t.Parallel()
	s, c := startClusterRoles(t, "")
	_, other := startClusterRoles(t, "", s.Etcd.Endpoints()...)
	c.aggregate("all", nil, nil, c.from("a"))
	want := "default-all"
	for i := range 9 {
		writer := c
		if i%2 == 1 {
			writer = other
		}
		writer.create(fmt.Sprint("r", i), c.to("a"), may("get", fmt.Sprint("things", i)))
		want += fmt.Sprintf(" [get things%d]", i)
	}
	c.until(want + ";")
	other.until(want + ";")
}
