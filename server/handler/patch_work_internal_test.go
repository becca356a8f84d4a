package handler

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// TestCostlyMerges refuses strategic merge patches whose work grows with the product of two lists, and no others.
func TestCostlyMerges(t *testing.T) {
	list := func(n int, item func(i int) any) (out []any) {
		for i := range n {
			out = append(out, item(i))
		}
		return out
	}
	text := func(i int) any { return fmt.Sprint("example.com/", i) }
	owner := func(i int) any { return map[string]any{"uid": fmt.Sprint(i)} }
	port := func(i int) any { return map[string]any{"containerPort": int64(i)} }
	variable := func(i int) any { return map[string]any{"name": fmt.Sprint(i)} }
	metadata := func(fields map[string]any) map[string]any { return map[string]any{"metadata": fields} }
	containers := func(items ...any) map[string]any { return map[string]any{"spec": map[string]any{"containers": items}} }
	for _, tt := range []struct {
		name            string
		document, patch map[string]any
		refused         bool
	}{
		{"owners", metadata(map[string]any{"ownerReferences": list(10_000, owner)}),
			metadata(map[string]any{"ownerReferences": list(10_000, owner)}), true},
		{"finalizers", metadata(map[string]any{"finalizers": list(10_000, text)}),
			metadata(map[string]any{"finalizers": list(10_000, text)}), true},
		{"the order of finalizers", metadata(map[string]any{"finalizers": list(10_000, text)}),
			metadata(map[string]any{"$setElementOrder/finalizers": list(10_000, text)}), true},
		{"new finalizers and their order", metadata(map[string]any{"name": "a"}),
			metadata(map[string]any{"finalizers": list(5000, text), "$setElementOrder/finalizers": list(5000, text)}), true},
		{"new finalizers", metadata(map[string]any{"name": "a"}), metadata(map[string]any{"finalizers": list(10_000, text)}), false},
		{"one owner of many", metadata(map[string]any{"ownerReferences": list(10_000, owner)}),
			metadata(map[string]any{"ownerReferences": list(1, owner)}), true},
		{"one owner of a thousand", metadata(map[string]any{"ownerReferences": list(1000, owner), "managedFields": list(50_000, text)}),
			metadata(map[string]any{"ownerReferences": list(1, owner)}), false},
		{"many labels", metadata(map[string]any{"labels": map[string]any{"a": "b"}, "managedFields": list(50_000, text)}),
			metadata(map[string]any{"labels": map[string]any{"a": "c"}, "managedFields": list(50_000, text)}), false},
		{"variables of one container", containers(map[string]any{"name": "a", "env": list(5000, variable)}),
			containers(map[string]any{"name": "a", "env": list(5000, variable)}), true},
		{"variables of many containers",
			containers(list(100, func(i int) any { return map[string]any{"name": fmt.Sprint(i), "env": list(100, variable)} })...),
			containers(list(100, func(i int) any { return map[string]any{"name": fmt.Sprint(i), "env": list(100, variable)} })...), false},
		{"one container, again and again", containers(map[string]any{"name": "a", "ports": list(1, port)}),
			containers(list(10_000, func(i int) any { return map[string]any{"name": "a", "ports": []any{port(i)}} })...), true},
	} {
		schema, err := strategicpatch.NewPatchMetaFromStruct(&corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		scope := &RequestScope{MaxObjectFields: 100_000}
		if err := scope.checkMerge(tt.document, tt.patch, schema); apierrors.IsRequestEntityTooLargeError(err) != tt.refused {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
