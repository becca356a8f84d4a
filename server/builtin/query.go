package builtin

import (
	"net/url"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddQueryOptions registers the conversion from a query to options, such as those of a log, an exec or a proxy.
func AddQueryOptions(s *runtime.Scheme, options ...runtime.Object) error {
	for _, o := range options {
		if err := s.AddConversionFunc((*url.Values)(nil), o, func(in, out any, _ conversion.Scope) error {
			return fromQuery(*in.(*url.Values), reflect.ValueOf(out).Elem())
		}); err != nil {
			return err
		}
	}
	return nil
}

// fromQuery sets each field of a struct from the parameter of its JSON name, in their order. It clears fields without
// one.
func fromQuery(query url.Values, into reflect.Value) error {
	for i := range into.NumField() {
		name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		field := into.Field(i)
		field.SetZero()
		if values, ok := query[name]; ok && len(values) > 0 {
			if err := setFromQuery(values, field.Addr().Interface()); err != nil {
				return err
			}
		}
	}
	return nil
}

// setFromQuery sets fields of the types that options use. A field of another type keeps its zero value.
func setFromQuery(values []string, field any) error {
	switch field := field.(type) {
	case *string:
		return runtime.Convert_Slice_string_To_string(&values, field, nil)
	case *bool:
		return runtime.Convert_Slice_string_To_bool(&values, field, nil)
	case **int64:
		return runtime.Convert_Slice_string_To_Pointer_int64(&values, field, nil)
	case **metav1.Time:
		return metav1.Convert_Slice_string_To_Pointer_v1_Time(&values, field, nil)
	case **string:
		*field = &values[0]
	case *[]string:
		*field = values
	case *[]int32:
		return metav1.Convert_Slice_string_To_Slice_int32(&values, field, nil)
	}
	return nil
}
