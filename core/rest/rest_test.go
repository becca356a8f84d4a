package rest

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func node(name string) TransformFunc {
	return func(_ context.Context, obj, _ runtime.Object) (runtime.Object, error) {
		obj.(*corev1.Pod).Spec.NodeName += name
		return obj, nil
	}
}

func TestUpdatedObjectStartsOverEachTime(t *testing.T) {
	sent := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}
	info := WrapUpdatedObjectInfo(DefaultUpdatedObjectInfo(sent, node("1"), node("2")), node("3"))
	for range 2 {
		got, err := info.UpdatedObject(t.Context(), &corev1.Pod{})
		if err != nil || got.(*corev1.Pod).Spec.NodeName != "123" {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if sent.Spec.NodeName != "" {
		t.Error("what the client sent was changed")
	}
	if p := info.Preconditions(); p == nil || *p.UID != "u" || p.ResourceVersion != nil {
		t.Errorf("got %+v", p)
	}
}

func TestUpdatedObjectFromTheOldOne(t *testing.T) {
	copyOld := func(_ context.Context, obj, old runtime.Object) (runtime.Object, error) {
		if obj != nil {
			t.Error("there is no object to begin with")
		}
		return old.DeepCopyObject(), nil
	}
	info := DefaultUpdatedObjectInfo(nil, copyOld, node("n"))
	old := &corev1.Pod{}
	got, err := info.UpdatedObject(t.Context(), old)
	if err != nil || got.(*corev1.Pod).Spec.NodeName != "n" || old.Spec.NodeName != "" || info.Preconditions() != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if p := DefaultUpdatedObjectInfo(old).Preconditions(); p != nil {
		t.Errorf("an object without a UID has no preconditions, got %+v", p)
	}
}

func TestTransformersEndAtAnError(t *testing.T) {
	failed := errors.New("no")
	fail := func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) { return nil, failed }
	never := func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) {
		t.Error("it went on after an error")
		return nil, nil
	}
	for _, info := range []UpdatedObjectInfo{
		DefaultUpdatedObjectInfo(&corev1.Pod{}, fail, never),
		WrapUpdatedObjectInfo(DefaultUpdatedObjectInfo(&corev1.Pod{}), fail, never),
		WrapUpdatedObjectInfo(DefaultUpdatedObjectInfo(&corev1.Pod{}, fail), never),
	} {
		if obj, err := info.UpdatedObject(t.Context(), &corev1.Pod{}); obj != nil || !errors.Is(err, failed) {
			t.Errorf("got %v, %v", obj, err)
		}
	}
}

func TestEnsureObjectNamespaceMatchesRequestNamespace(t *testing.T) {
	for _, tt := range []struct {
		request, object, want string
		refused               bool
	}{
		{"ns", "ns", "ns", false},
		{"ns", "", "ns", false},
		{"", "ns", "", false},
		{"", "", "", false},
		{"ns", "other", "other", true},
	} {
		obj := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: tt.object}}
		err := EnsureObjectNamespaceMatchesRequestNamespace(tt.request, obj)
		if apierrors.IsBadRequest(err) != tt.refused || (err != nil) != tt.refused || obj.Namespace != tt.want {
			t.Errorf("%+v: got %q, %v", tt, obj.Namespace, err)
		}
	}
}

func TestExpectedNamespace(t *testing.T) {
	if ExpectedNamespaceForScope("ns", true) != "ns" || ExpectedNamespaceForScope("ns", false) != "" {
		t.Error("by scope")
	}
	if ExpectedNamespaceForResource("ns", schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}) != "" ||
		ExpectedNamespaceForResource("ns", schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "namespaces"}) != "ns" {
		t.Error("by resource")
	}
}

func TestSimpleNameGenerator(t *testing.T) {
	for base, prefix := range map[string]string{"a-": "a-", strings.Repeat("b", 80): strings.Repeat("b", 58), "": ""} {
		got := SimpleNameGenerator.GenerateName(base)
		if !strings.HasPrefix(got, prefix) || len(got) != len(prefix)+5 {
			t.Errorf("%q: got %q", base, got)
		}
	}
}
