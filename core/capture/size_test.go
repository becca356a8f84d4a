package capture

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// TestSizeOfEach counts each text of a journey, whatever a capture has, and each entry of a list: readers keep journeys
// within a bound.
func TestSizeOfEach(t *testing.T) {
	j := &v1alpha1.Journey{}
	each(reflect.ValueOf(j).Elem(), "journey", func(v reflect.Value, path string) {
		v.SetZero()
		before, least := Size(j), int64(0)
		switch v.Kind() {
		case reflect.String:
			v.SetString(strings.Repeat("x", 1<<16))
			least = 1 << 16
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			for i := range 1 << 10 {
				v.SetMapIndex(reflect.ValueOf(strings.Repeat("x", i)), reflect.ValueOf("x"))
				least += int64(i + 1)
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1<<10, 1<<10))
			least = int64(v.Type().Elem().Size()) << 10
		}
		if grown := Size(j) - before; grown < least {
			t.Errorf("%s has %d bytes more, and %d are counted", path, least, grown)
		}
	})
	steps := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: make([]v1alpha1.Step, 1)}}
	before := Size(steps)
	steps.Status.Steps[0].Reason = &v1alpha1.Reason{}
	if Size(steps) < before+sizeOf[v1alpha1.Reason]() {
		t.Error("a reason is not counted")
	}
}

// each sets each text, map and list by one, and visits what a list or a pointer leads to before that.
func each(v reflect.Value, path string, visit func(v reflect.Value, path string)) {
	switch v.Interface().(type) {
	case metav1.Time, *metav1.Time, metav1.MicroTime:
		return
	}
	switch v.Kind() {
	case reflect.String, reflect.Map:
		visit(v, path)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		each(v.Elem(), path, visit)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			each(v.Index(0), path, visit)
		}
		visit(v, path)
	case reflect.Struct:
		for i := range v.NumField() {
			each(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	}
}
