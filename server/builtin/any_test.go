package builtin

import (
	"context"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
)

// TestDeclareKeepsAllFields sets each field of a Resource, its Status and its Part, and looks for it in the declaration.
func TestDeclareKeepsAllFields(t *testing.T) {
	r := Resource[*corev1.Pod]{
		Status:  &Status[*corev1.Pod]{},
		List:    &corev1.PodList{},
		Fields:  []Field[*corev1.Pod]{{Label: "a", AliasOf: "b", Served: []schema.GroupVersion{}}},
		Special: Specialize(func(s Strategy) rest.RESTCreateUpdateStrategy { return s }),
		REST:    Make(func(r *REST) rest.Storage { return r }),
	}
	fill(reflect.ValueOf(&r).Elem())
	fill(reflect.ValueOf(r.Status).Elem())
	got := Declare(r)
	empty := append(zero(reflect.ValueOf(got.Resource)), zero(reflect.ValueOf(*got.Status))...)
	if want := []string{"Row", "RowInList", "resetIn"}; !slices.Equal(empty, want) {
		t.Errorf("%q are empty, want %q", empty, want)
	}
	if zero := zero(reflect.ValueOf(*got)); len(zero) > 0 {
		t.Errorf("%q are empty", zero)
	}
	if f := got.Fields[0]; f.Label != "a" || f.AliasOf != "b" || f.Served == nil {
		t.Errorf("%+v", f)
	}
}

// fill sets the empty fields of a struct. It leaves out interfaces and pointers.
func fill(s reflect.Value) {
	for i := range s.NumField() {
		f := s.Field(i)
		switch {
		case !f.CanSet() || !f.IsZero():
		case f.Kind() == reflect.Struct:
			fill(f)
		case f.Kind() == reflect.Func:
			f.Set(zeroFunc(f.Type()))
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.Kind() == reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		}
	}
}

// zeroFunc is a function whose result is empty.
func zeroFunc(t reflect.Type) reflect.Value {
	return reflect.MakeFunc(t, func([]reflect.Value) (results []reflect.Value) {
		for i := range t.NumOut() {
			results = append(results, reflect.Zero(t.Out(i)))
		}
		return results
	})
}

// zero names the empty fields of a struct and of the structs in it.
func zero(s reflect.Value) (names []string) {
	for i := range s.NumField() {
		switch f := s.Field(i); {
		case f.IsZero():
			names = append(names, s.Type().Field(i).Name)
		case f.Kind() == reflect.Struct && s.Type().Field(i).Name == "Part":
			names = append(names, zero(f)...)
		}
	}
	return names
}

func TestFunctionsThatAreNotDeclared(t *testing.T) {
	got := Declare(Resource[*corev1.Pod]{Status: &Status[*corev1.Pod]{}})
	for name, f := range map[string]any{
		"Default": got.Default, "PrepareCreate": got.PrepareCreate, "PrepareUpdate": got.PrepareUpdate, "Canonicalize": got.Canonicalize,
		"Validate": got.Validate, "ValidateUpdate": got.ValidateUpdate, "Warnings": got.Warnings, "Spec": got.Spec, "Of": got.Status.Of,
		"Keep": got.Status.Keep, "Allow": got.Status.Allow, "Check": got.Status.Check, "Status.Warnings": got.Status.Warnings,
	} {
		if !reflect.ValueOf(f).IsNil() {
			t.Errorf("%s is a function", name)
		}
	}
}

func TestWarningsOfANewObject(t *testing.T) {
	s := Declare(Resource[*corev1.Pod]{Warnings: func(pod, old *corev1.Pod) []string {
		if old == nil {
			return []string{"new " + pod.Name}
		}
		return []string{"was " + old.Name}
	}}).Strategy()
	a, b := &corev1.Pod{}, &corev1.Pod{}
	a.Name, b.Name = "a", "b"
	got := append(s.WarningsOnCreate(context.Background(), a), s.WarningsOnUpdate(context.Background(), a, b)...)
	if want := []string{"new a", "was b"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestDeclarationsLeadToFewTypes: the compiler reads all types that a declaration leads to, in each package that has one.
func TestDeclarationsLeadToFewTypes(t *testing.T) {
	from := map[reflect.Type]reflect.Type{}
	lead(from, nil, reflect.TypeFor[Resource[*corev1.Pod]]())
	for _, heavy := range []reflect.Type{reflect.TypeFor[REST](), reflect.TypeFor[Strategy](), reflect.TypeFor[AnyResource]()} {
		if _, ok := from[heavy]; !ok {
			continue
		}
		var way []string
		for at := heavy; at != nil; at = from[at] {
			way = append(way, at.String())
		}
		t.Errorf("a declaration names a type that leads to the storage: %q", way)
	}
}

// lead notes from which type each is reached, through fields, elements, parameters and methods.
func lead(from map[reflect.Type]reflect.Type, by, to reflect.Type) {
	if _, ok := from[to]; ok {
		return
	}
	from[to] = by
	switch to.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		lead(from, to, to.Elem())
	case reflect.Map:
		lead(from, to, to.Key())
		lead(from, to, to.Elem())
	case reflect.Struct:
		for i := range to.NumField() {
			lead(from, to, to.Field(i).Type)
		}
	case reflect.Func:
		for i := range to.NumIn() {
			lead(from, to, to.In(i))
		}
		for i := range to.NumOut() {
			lead(from, to, to.Out(i))
		}
	}
	for i := range to.NumMethod() {
		lead(from, to, to.Method(i).Type)
	}
}
