package handler

import (
	"bytes"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/handler/fieldorder"
)

const (
	// maxForeignOwned limits the fields that a body may list under owners who do not own them in the stored object. The
	// server writes such lists in order. In any other order they take time that grows with their square.
	maxForeignOwned = 20_000
	// maxOwnedItems limits a list whose items have owners of their own: a set, or a list with keys. The library that
	// tracks the owners inserts items one by one into a sorted slice: 49,000 of them in a bad order took minutes. No
	// context ends that work, so it is limited before it begins.
	maxOwnedItems = 10_000
	// maxAppliedFields is the same limit for the fields of a map in server-side apply. Other writes present maps in
	// order.
	maxAppliedFields = 20_000
)

// checkFields refuses an object with more fields than the limit, unless live, the stored object, has as many. The time
// and memory for an object grow with its fields.
func (scope *RequestScope) checkFields(live, obj runtime.Object) error {
	limit := scope.MaxObjectFields
	if limit <= 0 {
		return nil
	}
	n := countFields(obj, min(limit, maxOwnedItems))
	if n > limit && n > countFields(live, limit) {
		return tooLarge("the object has %d fields and list items, the limit that --max-object-fields sets is %d", n, limit)
	}
	if n <= maxOwnedItems || scope.FieldTypes == nil {
		return nil
	}
	items := scope.ownedPieces(obj).List
	if items > maxOwnedItems && items > scope.ownedPieces(live).List {
		return tooLarge("a list whose items have owners of their own has %d items, the limit is %d", items, maxOwnedItems)
	}
	return nil
}

// checkApply refuses an apply that would take too long. An apply costs more than other writes, and its cost also
// depends on the stored object.
func (scope *RequestScope) checkApply(live, configuration runtime.Object) error {
	if scope.MaxObjectFields <= 0 || scope.FieldTypes == nil {
		return nil
	}
	for _, side := range []struct {
		name string
		obj  runtime.Object
	}{{"applied configuration", configuration}, {"stored object", live}} {
		if countFields(side.obj, maxOwnedItems) <= maxOwnedItems {
			continue
		}
		owned := scope.ownedPieces(side.obj)
		if owned.Map > maxAppliedFields {
			return tooLarge("a map of the %s has %d fields, the limit for server-side apply is %d; use another kind of patch",
				side.name, owned.Map, maxAppliedFields)
		}
		if owned.List > maxOwnedItems {
			return tooLarge("a list of the %s whose items have owners of their own has %d items, the limit is %d", side.name,
				owned.List, maxOwnedItems)
		}
	}
	return nil
}

func (scope *RequestScope) ownedPieces(obj runtime.Object) fieldorder.Pieces {
	return fieldorder.PiecesOf(scope.FieldTypes, scope.Kind, obj, maxOwnedItems)
}

func tooLarge(format string, args ...any) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(format, args...))
}

// checkForeignOwned refuses long lists of owned fields that a client sends and that live does not have.
func checkForeignOwned(live, obj runtime.Object) error {
	foreign := 0
	var known map[string]bool
	for _, entry := range managedFieldsOf(obj) {
		fields := rawFields(entry)
		if len(fields) < maxForeignOwned {
			continue // a field takes more than a byte
		}
		if known == nil {
			known = map[string]bool{}
			for _, entry := range managedFieldsOf(live) {
				known[string(rawFields(entry))] = true
			}
		}
		if !known[string(fields)] {
			foreign += bytes.Count(fields, []byte(`":`))
		}
	}
	if foreign > maxForeignOwned {
		return tooLarge("metadata.managedFields has %d fields in entries that the stored object does not have, the limit is %d",
			foreign, maxForeignOwned)
	}
	return nil
}

// countFields counts the fields and list items of an object at any depth, except in metadata.managedFields, which the
// server writes. It may return 0 if there are no more than limit.
func countFields(obj runtime.Object, limit int) int {
	switch o := obj.(type) {
	case nil:
		return 0
	case runtime.Unstructured:
		return countContent(o.UnstructuredContent())
	case interface{ Size() int }:
		if o.Size()/minFieldBytes <= limit {
			return 0
		}
	}
	n := countReflected(reflect.ValueOf(obj))
	if m, err := meta.Accessor(obj); err == nil {
		n -= countReflected(reflect.ValueOf(m.GetManagedFields()))
	}
	return n
}

// minFieldBytes is the least size of a field or list item in protobuf.
const minFieldBytes = 2

func countContent(content map[string]any) int {
	n := countValue(content)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		n -= countValue(metadata["managedFields"])
	}
	return n
}

func countValue(value any) int {
	n := 0
	switch value := value.(type) {
	case map[string]any:
		n = len(value)
		for _, v := range value {
			n += countValue(v)
		}
	case []any:
		n = len(value)
		for _, v := range value {
			n += countValue(v)
		}
	}
	return n
}

// countReflected counts the non-zero fields and items of a Go value: the encoder writes no others.
func countReflected(v reflect.Value) int {
	n := 0
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = countReflected(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); !field.IsZero() {
				n += 1 + countReflected(field)
			}
		}
	case reflect.Map:
		n = v.Len()
		for entries := v.MapRange(); entries.Next(); {
			n += countReflected(entries.Value())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 0
		}
		n = v.Len()
		for i := range v.Len() {
			n += countReflected(v.Index(i))
		}
	}
	return n
}
