package v1alpha1

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestDeepCopy copies each type with all of its fields set: the copy has them all, and shares nothing with the original.
func TestDeepCopy(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, of := range scheme.KnownTypes(SchemeGroupVersion) {
		if of.PkgPath() != reflect.TypeFor[Journey]().PkgPath() {
			continue
		}
		original := reflect.New(of)
		set(original.Elem())
		c := reflect.ValueOf(original.Interface().(runtime.Object).DeepCopyObject())
		if !reflect.DeepEqual(original.Interface(), c.Interface()) {
			t.Errorf("%s: %+v is copied as %+v", kind, original, c)
		}
		owned := map[uintptr]string{}
		memory(original, kind, func(at uintptr, path string) { owned[at] = path })
		memory(c, kind, func(at uintptr, _ string) {
			if path := owned[at]; path != "" {
				t.Errorf("the copy shares %s with the original", path)
			}
		})
	}
}

// set sets all fields, with one item in each list and map.
func set(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.Unix(1, 0)))
		return
	case reflect.TypeFor[metav1.MicroTime]():
		v.Set(reflect.ValueOf(metav1.NewMicroTime(time.Unix(1, 0))))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		set(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		set(key)
		set(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			set(v.Field(i))
		}
	case reflect.Interface: // a decoded object, which no type here has
	default:
		panic("the test does not set fields of " + v.Type().String())
	}
}

// memory visits each pointer, list and map.
func memory(v reflect.Value, path string, visit func(at uintptr, path string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if visit(v.Pointer(), path); !v.IsNil() {
			memory(v.Elem(), path, visit)
		}
	case reflect.Slice:
		visit(v.Pointer(), path)
		for i := range v.Len() {
			memory(v.Index(i), path, visit)
		}
	case reflect.Map:
		visit(v.Pointer(), path)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[metav1.Time]() || v.Type() == reflect.TypeFor[metav1.MicroTime]() {
			return
		}
		for i := range v.NumField() {
			memory(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	}
}
