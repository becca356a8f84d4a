package etcd3

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestSameContent: only an object that is exactly what was written, but for its resourceVersion, is the same.
func TestSameContent(t *testing.T) {
	content := func(change func(map[string]any)) *unstructured.Unstructured {
		obj := map[string]any{
			"kind": "Panda", "metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "y"}},
			"spec": map[string]any{"n": int64(1), "f": 1.5, "b": true, "null": nil, "list": []any{"a", map[string]any{"k": "v"}}},
		}
		if change != nil {
			change(obj)
		}
		return &unstructured.Unstructured{Object: obj}
	}
	spec := func(name string, value any) func(map[string]any) {
		return func(obj map[string]any) { obj["spec"].(map[string]any)[name] = value }
	}
	in := content(nil)
	for _, tc := range []struct {
		name string
		out  runtime.Object
		want bool
	}{
		{"the same", content(nil), true},
		{"with a resourceVersion", content(func(obj map[string]any) { obj["metadata"].(map[string]any)["resourceVersion"] = "7" }), true},
		{"itself", in, false},
		{"another value", content(spec("n", int64(2))), false},
		{"another type", content(spec("n", 1.0)), false},
		{"a default", content(spec("new", "x")), false},
		{"a field less", content(func(obj map[string]any) { delete(obj["spec"].(map[string]any), "null") }), false},
		{"another item", content(spec("list", []any{"a", map[string]any{"k": "w"}})), false},
		{"an item more", content(spec("list", []any{"a", map[string]any{"k": "v"}, "b"})), false},
		{"no metadata", content(func(obj map[string]any) { obj["metadata"] = "none" }), false},
		{"what JSON has not", content(spec("n", 1)), false},
		{"typed", &corev1.ConfigMap{}, false},
	} {
		if got := sameContent(in, tc.out); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
		if u, ok := tc.out.(*unstructured.Unstructured); ok && tc.name == "with a resourceVersion" && u.GetResourceVersion() != "7" {
			t.Error("the resourceVersion is gone")
		}
	}
	if sameContent(&corev1.ConfigMap{}, &corev1.ConfigMap{}) {
		t.Error("typed objects are not compared")
	}
}
