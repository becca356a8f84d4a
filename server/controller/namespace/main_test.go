package namespace_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// cluster is what a test does with a server.
type cluster struct {
	*kubernetes.Clientset
	t *testing.T
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (c cluster) namespace(name string) *corev1.Namespace {
	c.t.Helper()
	return must[*corev1.Namespace](c.t)(c.CoreV1().Namespaces().Create(c.t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
}

func (c cluster) configMap(namespace, name string, finalizers ...string) {
	c.t.Helper()
	must[*corev1.ConfigMap](c.t)(c.CoreV1().ConfigMaps(namespace).Create(c.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}, metav1.CreateOptions{}))
}

func (c cluster) pod(namespace, name, node string, finalizers ...string) {
	c.t.Helper()
	must[*corev1.Pod](c.t)(c.CoreV1().Pods(namespace).Create(c.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{}))
}

func (c cluster) remove(name string) {
	c.t.Helper()
	if err := c.CoreV1().Namespaces().Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// until waits until the namespace is as yes says; nil is that of a namespace that is gone.
func (c cluster) until(name string, yes func(*corev1.Namespace) bool) {
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

// says is true for a namespace that has such a condition.
func says(kind corev1.NamespaceConditionType, message string) func(*corev1.Namespace) bool {
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

func (c cluster) releaseConfigMap(namespace, name string) {
	c.t.Helper()
	must[*corev1.ConfigMap](c.t)(c.CoreV1().ConfigMaps(namespace).Patch(c.t.Context(), name, types.MergePatchType, withoutFinalizers, metav1.PatchOptions{}))
}
