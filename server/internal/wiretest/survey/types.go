package survey

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// structField is a field as JSON has it.
type structField struct {
	name     string
	typ      reflect.Type
	optional bool
}

// fieldsOf are the fields of a struct, with those of the structs embedded in it.
func fieldsOf(t reflect.Type) []structField {
	var fields []structField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			fields = append(fields, fieldsOf(indirect(f.Type))...)
		default:
			fields = append(fields, structField{name, f.Type, strings.Contains(options, "omitempty") ||
				strings.Contains(options, "omitzero")})
		}
	}
	return fields
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// scalars are the types that JSON has as one value, though they are structs in Go, with values to try.
var scalars = map[reflect.Type]variants{
	reflect.TypeFor[metav1.Time]():       {good: `"2020-02-02T02:02:02Z"`, bad: []string{`"yesterday"`}},
	reflect.TypeFor[metav1.MicroTime]():  {good: `"2020-02-02T02:02:02.000002Z"`, bad: []string{`"yesterday"`}},
	reflect.TypeFor[metav1.Duration]():   {good: `"90s"`, bad: []string{`"-1s"`, `"0s"`, `"soon"`}},
	reflect.TypeFor[resource.Quantity](): {good: `"3"`, bad: []string{`"-1"`, `"0"`, `"1500m"`, `"much"`}},
	reflect.TypeFor[intstr.IntOrString](): {good: `7`,
		bad: []string{`-1`, `0`, `65536`, `"Bad Value!"`, `"50%"`, `"101%"`, `"http"`, `""`}},
	reflect.TypeFor[runtime.RawExtension](): {good: `{"a":1}`, bad: []string{`"text"`}},
	reflect.TypeFor[metav1.FieldsV1]():      {good: `{"f:a":{}}`, bad: []string{`"text"`}},
	reflect.TypeFor[[]byte]():               {good: `"QUJD"`, bad: []string{`"Bad Value!"`}},

	reflect.TypeFor[apiextensionsv1.JSON](): {good: `1`, bad: []string{`"text"`, `{"a":1}`, `null`}},
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool](): {good: `{"type":"string"}`,
		bad: []string{`true`, `false`, `{}`, `"text"`}},
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray](): {good: `{"type":"string"}`,
		bad: []string{`[{"type":"string"}]`, `{}`, `"text"`}},
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): {good: `["a"]`, bad: []string{`{"type":"string"}`, `"text"`}},
}

// variants are values to try of a type: one that is of the right form, and some that are not, or are out of range.
type variants struct {
	good string
	bad  []string
}

// variantsOf are those of a type that JSON has as one value.
func variantsOf(t reflect.Type) (variants, bool) {
	if v, found := scalars[t]; found {
		return v, true
	}
	switch t.Kind() {
	case reflect.String:
		return variants{good: `"a"`, bad: []string{`"Bad Value!"`}}, true
	case reflect.Bool:
		return variants{good: `true`, bad: []string{`false`}}, true
	case reflect.Int32, reflect.Uint32:
		return variants{good: `1`, bad: []string{`-1`, `0`, `65536`, `2147483647`}}, true
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return variants{good: `1`, bad: []string{`-1`, `0`, `65536`, `9000000000000000000`}}, true
	case reflect.Float32, reflect.Float64:
		return variants{good: `1`, bad: []string{`-1`, `0`}}, true
	case reflect.Interface:
		return variants{good: `"a"`}, true
	}
	return variants{}, false
}

// minimal is a value of a type with what it must have. Types that contain themselves end at the depth.
func minimal(t reflect.Type, depth int) any {
	t = indirect(t)
	if v, scalar := variantsOf(t); scalar {
		return parse([]byte(v.good))
	}
	switch t.Kind() {
	case reflect.Slice:
		return []any{minimal(t.Elem(), depth-1)}
	case reflect.Map:
		return map[string]any{"a": minimal(t.Elem(), depth-1)}
	}
	object := map[string]any{}
	if depth > 0 {
		for _, f := range fieldsOf(t) {
			if !f.optional {
				object[f.name] = minimal(f.typ, depth-1)
			}
		}
	}
	return object
}

// empty is the empty value of a type: {}, [], "".
func empty(t reflect.Type) any {
	t = indirect(t)
	if _, scalar := scalars[t]; scalar {
		return ""
	}
	switch t.Kind() {
	case reflect.Slice:
		return []any{}
	case reflect.Map, reflect.Struct:
		return map[string]any{}
	case reflect.String:
		return ""
	case reflect.Bool:
		return false
	}
	return 0
}

var (
	objectMeta  = reflect.TypeFor[metav1.ObjectMeta]()
	podTemplate = reflect.TypeFor[corev1.PodTemplateSpec]()
)
