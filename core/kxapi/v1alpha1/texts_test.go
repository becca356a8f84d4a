package v1alpha1

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestTexts changes each text of a journey, since a capture may come from anybody.
func TestTexts(t *testing.T) {
	j := &Journey{}
	fillTexts(reflect.ValueOf(&j.Spec).Elem())
	fillTexts(reflect.ValueOf(&j.Status).Elem())
	j.Texts(func(string) string { return "changed" })
	var left []string
	findTexts(reflect.ValueOf(j.Spec), "spec", &left)
	findTexts(reflect.ValueOf(j.Status), "status", &left)
	if len(left) > 0 {
		t.Errorf("left as they were are %q", left)
	}
}

// fillTexts sets all texts, with one item in each list.
func fillTexts(v reflect.Value) {
	switch v.Interface().(type) {
	case metav1.Time, *metav1.Time, metav1.MicroTime, *metav1.MicroTime, *runtime.RawExtension:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("original")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillTexts(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillTexts(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			fillTexts(v.Field(i))
		}
	}
}

// findTexts lists the texts that are still as fillTexts set them.
func findTexts(v reflect.Value, path string, left *[]string) {
	switch v.Kind() {
	case reflect.String:
		if v.String() == "original" {
			*left = append(*left, path)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			findTexts(v.Elem(), path, left)
		}
	case reflect.Slice:
		for i := range v.Len() {
			findTexts(v.Index(i), path, left)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			findTexts(v.Field(i), path+"."+v.Type().Field(i).Name, left)
		}
	}
}
