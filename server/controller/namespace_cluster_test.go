package controller_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// namespaceCluster is what a test does with a server.
type namespaceCluster struct {
	*kubernetes.Clientset
	t *testing.T
}

// sharedNamespaces is the server that tests share, with a name for a namespace of the test's own.
func sharedNamespaces(t *testing.T) (c namespaceCluster, name string) {
	t.Helper()
	return namespaceCluster{bare.Clients(t).Clientset, t}, "a-" + rand.String(8)
}

func (c namespaceCluster) namespace(name string) {
	c.t.Helper()
	createNamespace(c.t, c, name)
}

func (c namespaceCluster) configMap(namespace, name string, finalizers ...string) {
	c.t.Helper()
	must[*corev1.ConfigMap](c.t)(c.CoreV1().ConfigMaps(namespace).Create(c.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}, metav1.CreateOptions{}))
}

func (c namespaceCluster) pod(namespace, name, node string, finalizers ...string) {
	c.t.Helper()
	must[*corev1.Pod](c.t)(c.CoreV1().Pods(namespace).Create(c.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{}))
}

func (c namespaceCluster) remove(name string) {
	c.t.Helper()
	if err := c.CoreV1().Namespaces().Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// until waits until the namespace is as yes says; nil is that of a namespace that is gone.
func (c namespaceCluster) until(name string, yes func(*corev1.Namespace) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), controllertest.Patience)
	defer cancel()
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	list := must[*corev1.NamespaceList](c.t)(c.CoreV1().Namespaces().List(ctx, metav1.ListOptions{FieldSelector: selector}))
	var ns *corev1.Namespace
	if len(list.Items) > 0 {
		ns = &list.Items[0]
	}
	if yes(ns) {
		return
	}
	w := must[watch.Interface](c.t)(c.CoreV1().Namespaces().Watch(ctx, metav1.ListOptions{FieldSelector: selector, ResourceVersion: list.ResourceVersion}))
	defer w.Stop()
	for event := range w.ResultChan() {
		ns = event.Object.(*corev1.Namespace)
		if event.Type == watch.Deleted {
			ns = nil
		}
		if yes(ns) {
			return
		}
	}
	c.t.Fatalf("in %v what was waited for did not come to pass: %+v", controllertest.Patience, ns)
}

func isGone(ns *corev1.Namespace) bool { return ns == nil }

// saysNamespace is true for a namespace that has such a condition.
func saysNamespace(kind corev1.NamespaceConditionType, message string) func(*corev1.Namespace) bool {
	return func(ns *corev1.Namespace) bool {
		if ns == nil {
			return false
		}
		for _, c := range ns.Status.Conditions {
			if c.Type == kind {
				return c.Status == corev1.ConditionTrue && c.Message == message
			}
		}
		return false
	}
}

var withoutFinalizers = []byte(`{"metadata":{"finalizers":null}}`)

func (c namespaceCluster) releaseConfigMap(namespace, name string) {
	c.t.Helper()
	must[*corev1.ConfigMap](c.t)(c.CoreV1().ConfigMaps(namespace).Patch(c.t.Context(), name, types.MergePatchType, withoutFinalizers, metav1.PatchOptions{}))
}
