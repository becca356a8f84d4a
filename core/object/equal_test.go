package object

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// TestEqualJSON compares EqualJSON with reflect.DeepEqual for each pair of some values.
func TestEqualJSON(t *testing.T) {
	fields := map[string]any{"f:spec": map[string]any{"f:a": map[string]any{}, ".": map[string]any{}}}
	values := []any{
		nil, true, false, int64(1), float64(1), "1", "", []any(nil), []any{}, []any{nil}, []any{int64(1)}, []any{int64(1), "a"},
		[]any{"a", int64(1)}, map[string]any(nil), map[string]any{}, map[string]any{"a": nil}, map[string]any{"b": nil},
		map[string]any{"a": []any{fields}}, fields,
		map[string]any{"f:spec": map[string]any{"f:a": map[string]any{}, ".": map[string]any{"f:b": nil}}},
	}
	for _, a := range values {
		for _, b := range values {
			if b != nil {
				b = runtime.DeepCopyJSONValue(b)
			}
			if got, want := EqualJSON(a, b), reflect.DeepEqual(a, b); got != want {
				t.Errorf("%#v and %#v: %v, want %v", a, b, got, want)
			}
		}
	}
	copied := runtime.DeepCopyJSONValue(fields)
	if n := testing.AllocsPerRun(100, func() { EqualJSON(fields, copied) }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
