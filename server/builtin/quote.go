package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// QuotedValue wraps a value of a versioned type and marshals as its internal type would.
type QuotedValue struct{ value any }

// Quote wraps value, so that an error about a field quotes it as every Kubernetes API server does.
//
// Kubernetes validates objects of internal types, which have the same fields as the versioned ones but no JSON names:
// clients read {"Name":"a","Command":null}. The wrapped value of a versioned type marshals with the names of the Go
// fields, and with empty fields. Types of k8s.io/apimachinery, such as metadata, selectors, quantities and times, have
// no internal form and keep theirs.
func Quote(value any) QuotedValue { return QuotedValue{value} }

// ValidateImmutable requires that value equals old, and quotes it otherwise.
func ValidateImmutable[T any](value, old T, path *field.Path) field.ErrorList {
	if apiequality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, Quote(value), validation.FieldImmutableErrorMsg)}
}

func (v QuotedValue) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	if err := write(&out, reflect.ValueOf(v.value)); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// String returns the text for the message of a value that can't be marshalled.
func (v QuotedValue) String() string { return fmt.Sprintf("%#v", v.value) }

var marshaler = reflect.TypeFor[json.Marshaler]()

func write(out *bytes.Buffer, v reflect.Value) error {
	if !v.IsValid() {
		out.WriteString("null")
		return nil
	}
	t := v.Type()
	if keepsForm(t) {
		return marshal(out, v)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			out.WriteString("null")
			return nil
		}
		return write(out, v.Elem())
	case reflect.Struct:
		return list(out, '{', '}', func(next func()) error { return writeFields(out, v, next) })
	case reflect.Slice:
		if v.IsNil() || t.Elem().Kind() == reflect.Uint8 {
			return marshal(out, v)
		}
		return list(out, '[', ']', func(next func()) error {
			for i := range v.Len() {
				next()
				if err := write(out, v.Index(i)); err != nil {
					return err
				}
			}
			return nil
		})
	case reflect.Map:
		if v.IsNil() {
			return marshal(out, v)
		}
		return list(out, '{', '}', func(next func()) error { return writeEntries(out, v, next) })
	}
	return marshal(out, v)
}

// keepsForm reports whether a type is the same in versioned and in internal objects.
func keepsForm(t reflect.Type) bool {
	return t.Implements(marshaler) || strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/")
}

func marshal(out *bytes.Buffer, v reflect.Value) error {
	data, err := json.Marshal(v.Interface())
	out.Write(data)
	return err
}

// list writes a list between open and end. write calls next before each element.
func list(out *bytes.Buffer, open, end byte, write func(next func()) error) error {
	out.WriteByte(open)
	first := true
	err := write(func() {
		if !first {
			out.WriteByte(',')
		}
		first = false
	})
	out.WriteByte(end)
	return err
}

// writeFields writes the fields of v. It inlines those of embedded structs.
func writeFields(out *bytes.Buffer, v reflect.Value, next func()) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Anonymous && keepsForm(f.Type):
			data, err := json.Marshal(v.Field(i).Interface())
			if err != nil {
				return err
			}
			if len(data) > len("{}") {
				next()
				out.Write(data[1 : len(data)-1])
			}
		case f.Anonymous:
			if err := writeFields(out, v.Field(i), next); err != nil {
				return err
			}
		default:
			next()
			fmt.Fprintf(out, "%q:", f.Name)
			if err := write(out, v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeEntries(out *bytes.Buffer, v reflect.Value, next func()) error {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		next()
		if err := marshal(out, key); err != nil {
			return err
		}
		out.WriteByte(':')
		if err := write(out, v.MapIndex(key)); err != nil {
			return err
		}
	}
	return nil
}
