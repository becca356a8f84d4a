package fieldorder

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// object has a map of n fields beside other things.
func object(r *rand.Rand, n int) *unstructured.Unstructured {
	data := map[string]any{}
	for i := range n {
		data[fmt.Sprint(i)] = map[string]any{"value": int64(r.IntN(2)), "list": []any{"a", map[string]any{"b": r.IntN(2) == 0}}}
	}
	for range n / 3 {
		delete(data, fmt.Sprint(r.IntN(n)))
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "data": data, "some": []any{int64(1), nil, "x"},
	}}
}

func toTyped(t *testing.T, c managedfields.TypeConverter, u *unstructured.Unstructured) *typed.TypedValue {
	t.Helper()
	v, err := c.ObjectToTyped(u)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSameInOrder compares what the library makes of two objects with and without an order, in each combination.
func TestSameInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	plain := managedfields.NewDeducedTypeConverter()
	long, short := object(r, 2*longMap), object(r, 10)
	for _, pair := range [][2]*unstructured.Unstructured{{long, object(r, 2*longMap)}, {short, long}, {long, short}, {long, long}} {
		var texts []string
		for _, c := range []managedfields.TypeConverter{plain, NewConverter(plain)} {
			lhs, rhs := toTyped(t, c, pair[0]), toTyped(t, c, pair[1])
			compared, err := lhs.Compare(rhs)
			if err != nil {
				t.Fatal(err)
			}
			merged, err := lhs.Merge(rhs)
			if err != nil {
				t.Fatal(err)
			}
			set, err := rhs.ToFieldSet()
			if err != nil {
				t.Fatal(err)
			}
			back, err := c.TypedToObject(lhs)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, compared.String(), set.String(), fmt.Sprint(merged.AsValue().Unstructured()), fmt.Sprint(back),
				fmt.Sprint(value.Equals(lhs.AsValue(), rhs.AsValue())))
		}
		if half := len(texts) / 2; !slices.Equal(texts[:half], texts[half:]) {
			t.Error("an order changes what the library says")
		}
	}
}

// TestLongMapsHaveAnOrder goes through a long map, alone and with one that has none.
func TestLongMapsHaveAnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	plain := managedfields.NewDeducedTypeConverter()
	root := toTyped(t, NewConverter(plain), object(r, 2*longMap)).AsValue().AsMap()
	data, _ := root.Get("data")
	var keys []string
	data.AsMap().Iterate(func(key string, _ value.Value) bool { keys = append(keys, key); return true })
	if len(keys) < longMap || !slices.IsSorted(keys) {
		t.Errorf("%d keys in any order", len(keys))
	}
	keys = nil
	other := toTyped(t, plain, object(r, 3*longMap)).AsValue().AsMap()
	value.MapZip(root, other, value.Unordered, func(key string, _, rhs value.Value) bool {
		if key == "data" {
			value.MapZip(rhs.AsMap(), nil, value.Unordered, func(key string, _, _ value.Value) bool { keys = append(keys, key); return true })
		}
		return true
	})
	if len(keys) < longMap || !slices.IsSorted(keys) {
		t.Errorf("%d keys of the other in any order", len(keys))
	}
	if _, ok := toTyped(t, NewConverter(plain), object(r, 10)).AsValue().(orderedValue); ok {
		t.Error("a short object is put in order")
	}
}
