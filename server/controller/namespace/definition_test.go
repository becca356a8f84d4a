package namespace_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/controller/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

// TestDefinitionThatCannotBeRead has a server that does not know a definition, since its value is damaged: nobody can say that a
// namespace is empty, and it stays until the definition is whole again. Then it goes with the definition's objects.
func TestDefinitionThatCannotBeRead(t *testing.T) {
	o := options.New()
	o.InitialObjects = false
	clients, _ := controllertest.Serve(t, o, controllertest.ShortDir(t))
	s := scene{cluster: cluster{clients.Clientset, t}, Stage: &controllertest.Stage{Clients: clients, T: t, Namespace: "a"}, ns: "a"}
	s.namespace("a")
	things := s.definition("Thing")
	s.custom(things, "o")
	name := things.Resource + "." + things.Group
	definition, thing := "/registry/apiextensions.k8s.io/customresourcedefinitions/"+name, "/registry/"+things.Group+"/things/a/o"
	whole, object := s.stored(definition), s.stored(thing)
	if err := s.Dynamic.Resource(definitions).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.untilNotFound(s.Dynamic.Resource(definitions), name)
	// They come back, as from a snapshot.
	s.put(definition, whole[:len(whole)/2])
	s.put(thing, object)
	s.configMap("a", "o")
	s.remove("a")
	s.until("a", func(ns *corev1.Namespace) bool {
		if ns == nil {
			t.Fatal("the namespace is gone, and its objects are not")
		}
		for _, c := range ns.Status.Conditions {
			if c.Type == corev1.NamespaceDeletionDiscoveryFailure && c.Status == corev1.ConditionTrue {
				t.Log(c.Reason, c.Message)
				return c.Reason == "DiscoveryFailed" && strings.Contains(c.Message, definition)
			}
		}
		return false
	})
	if list := must[*corev1.ConfigMapList](t)(s.CoreV1().ConfigMaps("a").List(t.Context(), metav1.ListOptions{})); len(list.Items) != 0 {
		t.Error("what is known was not deleted")
	}
	s.put(definition, whole)
	s.until("a", isGone)
	if got, err := s.Etcd.Get(t.Context(), thing); err != nil || len(got.Kvs) != 0 {
		t.Errorf("%v outlived its namespace: %v", got.Kvs, err)
	}
}

// stored is the value of a key.
func (s scene) stored(key string) string {
	s.t.Helper()
	got, err := s.Etcd.Get(s.t.Context(), key)
	if err != nil || len(got.Kvs) != 1 {
		s.t.Fatal(got, err)
	}
	return string(got.Kvs[0].Value)
}

func (s scene) put(key, value string) {
	s.t.Helper()
	if _, err := s.Etcd.Put(s.t.Context(), key, value); err != nil {
		s.t.Fatal(err)
	}
}
