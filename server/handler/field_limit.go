package handler

import (
	"bytes"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxForeignOwned is how many fields a client may say that somebody owns who did not own the same before. The server writes
// such lists in order. In any other order they take time that grows with their square.
const maxForeignOwned = 20_000

// checkFields refuses an object with more fields than there may be, unless live, which is stored already, has as many.
// What is done with an object takes time and memory by its fields: a body of 3 MiB has a million of them.
func (scope *RequestScope) checkFields(live, obj runtime.Object) error {
	limit := scope.MaxObjectFields
	if limit <= 0 {
		return nil
	}
	if n := countFields(obj, limit); n > limit && n > countFields(live, limit) {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"the object has %d fields and list items, the limit that --max-object-fields sets is %d", n, limit))
	}
	return checkForeignOwned(live, obj)
}

// checkForeignOwned refuses long lists of owned fields that are not live's.
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
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"metadata.managedFields has %d fields in entries that the stored object does not have, the limit is %d", foreign, maxForeignOwned))
	}
	return nil
}

// countFields counts the fields and list items of an object at any depth, but for metadata.managedFields, which the server
// writes. It may say 0 if there are no more than limit.
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

// minFieldBytes is the least that a field or list item takes in protobuf.
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

// countReflected counts what is not zero: that is as much as is written of a Go type.
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
