package pod_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

// TestBindings binds pods by both resources: each once, and only the one that was meant.
func TestBindings(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	pods := builtintest.Storages(t, builtin.Declare(pod.Resource), etcd)
	legacy := builtintest.Storages(t, pod.Bindings, etcd)[""].(rest.Creater)
	ctx := builtintest.Context(t, "default")
	bySubresource := func(b *corev1.Binding) error {
		_, err := pods["binding"].(rest.NamedCreater).Create(ctx, b.Name, b, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		return err
	}
	for name, bind := range map[string]func(*corev1.Binding) error{
		"subresource": bySubresource,
		"resource": func(b *corev1.Binding) error {
			_, err := legacy.Create(ctx, b, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
			return err
		},
	} {
		if _, err := pods[""].(rest.Creater).Create(ctx, builtintest.Defaulted(newPod(name)), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"zone": "z"}},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "node-1"},
		}
		another := binding.DeepCopy()
		another.UID = types.UID("another")
		if err := bind(another); !apierrors.IsConflict(err) {
			t.Errorf("%s: another pod of the name: %v", name, err)
		}
		if err := bind(binding); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := bind(binding); !apierrors.IsConflict(err) {
			t.Errorf("%s: bound twice: %v", name, err)
		}
		got := get(t, ctx, pods[""], name)
		if c := got.Status.Conditions; got.Spec.NodeName != "node-1" || got.Labels["zone"] != "z" || len(c) != 1 || c[0].Type != corev1.PodScheduled || c[0].Status != corev1.ConditionTrue {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if err := bySubresource(&corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "subresource"}}); err == nil || err.Error() != "target.name: Required value" {
		t.Errorf("without a node: %v", err)
	}
}

// TestEphemeralContainers adds a container, which then stays as it is.
func TestEphemeralContainers(t *testing.T) {
	pods := builtintest.Storages(t, builtin.Declare(pod.Resource), builtintest.NewEtcd(t))
	ctx := builtintest.Context(t, "default")
	if _, err := pods[""].(rest.Creater).Create(ctx, builtintest.Defaulted(newPod("a")), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	update := func(image string) error {
		changed := get(t, ctx, pods[""], "a")
		changed.Spec.NodeName = "elsewhere"
		changed.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: image}}}
		_, _, err := pods["ephemeralcontainers"].(rest.Updater).Update(ctx, "a", rest.DefaultUpdatedObjectInfo(builtintest.Defaulted(changed)), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
		return err
	}
	if err := update("busybox"); err != nil {
		t.Fatal(err)
	}
	if got := get(t, ctx, pods[""], "a"); len(got.Spec.EphemeralContainers) != 1 || got.Spec.NodeName != "" || got.Generation != 2 {
		t.Errorf("%+v", got)
	}
	if err := update("other"); !apierrors.IsInvalid(err) {
		t.Errorf("changed: %v", err)
	}
}

func get(t *testing.T, ctx context.Context, storage any, name string) *corev1.Pod {
	t.Helper()
	var obj runtime.Object
	obj, err := storage.(rest.Getter).Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return builtintest.Own[*corev1.Pod](t, obj).DeepCopy()
}
