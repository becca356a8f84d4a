package controller_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// garbageCluster is what a test does with a server that collects garbage.
type garbageCluster struct {
	*kubernetes.Clientset
	t *testing.T
}

// sharedGarbage is the server that tests share, with a namespace of the test's own.
func sharedGarbage(t *testing.T) (c garbageCluster, ns string) {
	t.Helper()
	c = garbageCluster{bare.Clients(t).Clientset, t}
	return c, createNamespace(t, c, "garbage-").Name
}

func startGarbage(t *testing.T, dir string, etcds ...string) (c garbageCluster, stop func()) {
	t.Helper()
	clients, stop := serveGarbage(t, dir, etcds...)
	return garbageCluster{clients.Clientset, t}, stop
}

func serveGarbage(t *testing.T, dir string, etcds ...string) (clients controllertest.Clients, stop func()) {
	t.Helper()
	return controllertest.Serve(t, withoutFixtures(), dir, etcds...)
}

// configMap makes an object with owners.
func (c garbageCluster) configMap(namespace, name string, owners []metav1.OwnerReference, finalizers ...string) *corev1.ConfigMap {
	c.t.Helper()
	made, err := c.CoreV1().ConfigMaps(namespace).Create(c.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners, Finalizers: finalizers},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return made
}

// owns are references to config maps.
func owns(blocks bool, owners ...*corev1.ConfigMap) (references []metav1.OwnerReference) {
	for _, o := range owners {
		references = append(references, metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID, BlockOwnerDeletion: &blocks,
		})
	}
	return references
}

func (c garbageCluster) remove(o *corev1.ConfigMap, policy metav1.DeletionPropagation) {
	c.t.Helper()
	if err := c.CoreV1().ConfigMaps(o.Namespace).Delete(c.t.Context(), o.Name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		c.t.Fatal(err)
	}
}

func (c garbageCluster) letGo(o *corev1.ConfigMap) {
	c.t.Helper()
	_, err := c.CoreV1().ConfigMaps(o.Namespace).Patch(c.t.Context(), o.Name, types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
}

// configMaps are the config maps of a namespace by name.
type configMaps map[string]*corev1.ConfigMap

func configMapsOf(list *corev1.ConfigMapList) configMaps {
	there := configMaps{}
	for i := range list.Items {
		there[list.Items[i].Name] = &list.Items[i]
	}
	return there
}

// until waits until the config maps of a namespace are as yes says.
func (c garbageCluster) until(namespace string, yes func(configMaps) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), controllertest.Patience)
	defer cancel()
	list, err := c.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	there := configMapsOf(list)
	if yes(there) {
		return
	}
	w, err := c.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		cm, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			c.t.Fatal(event.Object)
		}
		if there[cm.Name] = cm; event.Type == watch.Deleted {
			delete(there, cm.Name)
		}
		if yes(there) {
			return
		}
	}
	for name, cm := range there {
		c.t.Logf("%s: finalizers %v, deleted %v, owners %v", name, cm.Finalizers, cm.DeletionTimestamp, cm.OwnerReferences)
	}
	c.t.Fatalf("in %v what was waited for did not come to pass", controllertest.Patience)
}

// only is true when exactly these are there.
func only(names ...string) func(configMaps) bool {
	return func(there configMaps) bool {
		for _, name := range names {
			if there[name] == nil {
				return false
			}
		}
		return len(there) == len(names)
	}
}
