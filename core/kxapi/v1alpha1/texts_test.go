package v1alpha1

import (
	"reflect"
	"testing"
)

// TestTexts changes each text of a journey, since a capture may come from anybody.
func TestTexts(t *testing.T) {
	j := &Journey{}
	set(reflect.ValueOf(j).Elem())
	j.Texts(func(string) string { return "changed" })
	var left []string
	findTexts(reflect.ValueOf(j.Spec), "spec", &left)
	findTexts(reflect.ValueOf(j.Status), "status", &left)
	if len(left) > 0 {
		t.Errorf("left as they were are %q", left)
	}
}

// findTexts lists the texts that are still as set has set them.
func findTexts(v reflect.Value, path string, left *[]string) {
	switch v.Kind() {
	case reflect.String:
		if v.String() == "text" {
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
