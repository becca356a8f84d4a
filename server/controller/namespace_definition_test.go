package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/internal/hooktest"
)

// TestNamespaceDefinitionThatCannotBeRead has a server that does not know a definition, since its value is damaged: nobody can say that a
// namespace is empty, and it stays until the definition is whole again. Then it goes with the definition's objects.
func TestNamespaceDefinitionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	clients, _ := controllertest.Serve(t, withAll(), "")
	s := namespaceScene{namespaceCluster: namespaceCluster{clients.Clientset, t}, Stage: &controllertest.Stage{Clients: clients, T: t, Namespace: "a"}, ns: "a"}
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

// TestNamespaceRefusedByWebhook has a webhook that lets nobody delete what is in a namespace, as it would refuse a client: the condition
// says so, and the namespace goes when the webhook does.
func TestNamespaceRefusedByWebhook(t *testing.T) {
	t.Parallel()
	o := withAll()
	o.Controllers = controller.Selection{controller.Namespace}
	clients, _ := controllertest.Serve(t, o, "")
	c := namespaceCluster{clients.Clientset, t}
	hook := hooktest.New(t)
	_, configuration := hook.Configurations("deny-delete")
	configurations := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	must[any](t)(configurations.Create(t.Context(), configuration, metav1.CreateOptions{}))
	c.namespace("a")
	c.namespace("b")
	c.configMap("a", "kept")
	c.configMap("b", "free")
	maps := c.CoreV1().ConfigMaps("a")
	must[any](t)(maps.Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"labels":{"scene":"deny-delete"}}}`), metav1.PatchOptions{}))
	eventually(t, "the webhook is in force", func() bool {
		_ = maps.Delete(t.Context(), "kept", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return hook.Calls("/deny-delete") > 0
	})
	c.remove("a")
	c.until("a", saysNamespace(corev1.NamespaceDeletionContentFailure,
		`Failed to delete all resource types, 1 remaining: admission webhook "deny-delete.deny-delete.example.com" denied the request: it stays`))
	c.remove("b")
	c.until("b", isGone)
	if err := configurations.Delete(t.Context(), configuration.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("a", isGone)
}

// stored is the value of a key.
func (s namespaceScene) stored(key string) string {
	s.t.Helper()
	got, err := s.Etcd.Get(s.t.Context(), key)
	if err != nil || len(got.Kvs) != 1 {
		s.t.Fatal(got, err)
	}
	return string(got.Kvs[0].Value)
}

func (s namespaceScene) put(key, value string) {
	s.t.Helper()
	if _, err := s.Etcd.Put(s.t.Context(), key, value); err != nil {
		s.t.Fatal(err)
	}
}
