// Package fieldorder presents the fields of long maps in the order of their names to the library that tracks field
// owners.
//
// The library keeps owned fields in sorted slices, and inserts them one by one. A Go map yields them in random order,
// so each insertion moves half of the slice: 200,000 keys took most of a minute. In order, each key is appended.
//
// What comes in: a type converter. What goes out: a converter whose values have an order if they are long. Objects with
// only short maps, nearly all, stay as they are: sorting them would cost more than it saves.
package fieldorder

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

const (
	// longMap is the number of fields from which on a map is presented in order.
	longMap = 1000
	// longObject is the least size in protobuf of an object that may have such a map.
	longObject = 8 * longMap
)

// NewConverter wraps c so that its values have an order.
func NewConverter(c managedfields.TypeConverter) managedfields.TypeConverter { return converter{c} }

type converter struct{ managedfields.TypeConverter }

func (c converter) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	out, err := c.TypeConverter.ObjectToTyped(obj, options...)
	if err != nil || !isLong(obj) {
		return out, err
	}
	return typed.AsTyped(wrap(out.AsValue()), out.Schema(), out.TypeRef(), options...)
}

// isLong reports whether an object may have a long map.
func isLong(obj runtime.Object) bool {
	switch o := obj.(type) {
	case runtime.Unstructured:
		return hasLongMap(o.UnstructuredContent())
	case interface{ Size() int }:
		return o.Size() >= longObject
	}
	return false
}

func hasLongMap(content any) bool {
	switch content := content.(type) {
	case map[string]any:
		if len(content) >= longMap {
			return true
		}
		for _, v := range content {
			if hasLongMap(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(content, hasLongMap)
	}
	return false
}

// orderedValue is a value whose maps, at any depth, iterate in order.
type orderedValue struct{ value.Value }

func wrap(v value.Value) value.Value {
	if v == nil {
		return nil
	}
	if _, ok := v.(orderedValue); ok || !v.IsMap() && !v.IsList() {
		return v
	}
	return orderedValue{v}
}

func (v orderedValue) AsMap() value.Map                         { return orderedMap{v.Value.AsMap()} }
func (v orderedValue) AsMapUsing(value.Allocator) value.Map     { return v.AsMap() }
func (v orderedValue) AsList() value.List                       { return orderedList{v.Value.AsList()} }
func (v orderedValue) AsListUsing(_ value.Allocator) value.List { return v.AsList() }

type orderedMap struct{ value.Map }

func (m orderedMap) Get(key string) (value.Value, bool) {
	v, ok := m.Map.Get(key)
	return wrap(v), ok
}

func (m orderedMap) GetUsing(_ value.Allocator, key string) (value.Value, bool) { return m.Get(key) }

func (m orderedMap) keys() []string {
	keys := make([]string, 0, m.Length())
	m.Map.Iterate(func(key string, _ value.Value) bool {
		keys = append(keys, key)
		return true
	})
	slices.Sort(keys)
	return keys
}

func (m orderedMap) Iterate(visit func(string, value.Value) bool) bool {
	for _, key := range m.keys() {
		if v, ok := m.Get(key); ok && !visit(key, v) {
			return false
		}
	}
	return true
}

func (m orderedMap) IterateUsing(_ value.Allocator, visit func(string, value.Value) bool) bool {
	return m.Iterate(visit)
}

// Zip iterates over both maps in order. The values of other that it passes on are ordered, too.
func (m orderedMap) Zip(other value.Map, _ value.MapTraverseOrder, visit func(key string, lhs, rhs value.Value) bool) bool {
	keys := m.keys()
	if other != nil {
		own := len(keys)
		for _, key := range (orderedMap{other}).keys() {
			if _, found := slices.BinarySearch(keys[:own], key); !found {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
	}
	for _, key := range keys {
		lhs, _ := m.Get(key)
		var rhs value.Value
		if other != nil {
			rhs, _ = other.Get(key)
		}
		if !visit(key, lhs, wrap(rhs)) {
			return false
		}
	}
	return true
}

func (m orderedMap) ZipUsing(_ value.Allocator, other value.Map, order value.MapTraverseOrder,
	visit func(key string, lhs, rhs value.Value) bool) bool {
	return m.Zip(other, order, visit)
}

// Equals needs no order.
func (m orderedMap) Equals(other value.Map) bool {
	if o, ok := other.(orderedMap); ok {
		other = o.Map
	}
	return m.Map.Equals(other)
}

func (m orderedMap) EqualsUsing(_ value.Allocator, other value.Map) bool { return m.Equals(other) }

type orderedList struct{ value.List }

func (l orderedList) At(i int) value.Value                         { return wrap(l.List.At(i)) }
func (l orderedList) AtUsing(_ value.Allocator, i int) value.Value { return l.At(i) }

func (l orderedList) Equals(other value.List) bool {
	if o, ok := other.(orderedList); ok {
		other = o.List
	}
	return l.List.Equals(other)
}

func (l orderedList) EqualsUsing(_ value.Allocator, other value.List) bool { return l.Equals(other) }
