package builtin

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AddAlike registers conversions between two versions of a kind whose types have the same fields. Such types have the
// same layout in memory, so a conversion copies one struct. The result shares memory with the source, and neither is
// modified. Types that differ fail here, when the server starts, and not at the first request.
func AddAlike(s *runtime.Scheme, one, other schema.GroupVersionKind) error {
	a, err := s.New(one)
	if err != nil {
		return err
	}
	b, err := s.New(other)
	if err != nil {
		return err
	}
	if err := sameFields(reflect.TypeOf(a).Elem(), reflect.TypeOf(b).Elem(), map[[2]reflect.Type]bool{}); err != nil {
		return fmt.Errorf("convert %v to %v: %w", one, other, err)
	}
	if err := s.AddConversionFunc(a, b, copyAlike); err != nil {
		return err
	}
	return s.AddConversionFunc(b, a, copyAlike)
}

// copyAlike leaves apiVersion and kind to the scheme.
func copyAlike(in, out any, _ conversion.Scope) error {
	to := reflect.ValueOf(out)
	to.Elem().Set(viewAs(in, to.Type().Elem()).Elem())
	out.(runtime.Object).GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return nil
}

// viewAs returns a pointer to obj's memory, typed as a type with the same fields.
func viewAs(obj any, as reflect.Type) reflect.Value {
	return reflect.NewAt(as, reflect.ValueOf(obj).UnsafePointer())
}

// sameFields explains why a and b can't share memory. seen holds the pairs under comparison, which ends the recursion
// for types that contain themselves.
func sameFields(a, b reflect.Type, seen map[[2]reflect.Type]bool) error {
	pair := [2]reflect.Type{a, b}
	if a == b || seen[pair] {
		return nil
	}
	seen[pair] = true
	if a.Kind() != b.Kind() {
		return fmt.Errorf("%v and %v are different", a, b)
	}
	switch a.Kind() {
	case reflect.Struct:
		return sameStruct(a, b, seen)
	case reflect.Map:
		if err := sameFields(a.Key(), b.Key(), seen); err != nil {
			return err
		}
		return sameFields(a.Elem(), b.Elem(), seen)
	case reflect.Pointer, reflect.Slice:
		return sameFields(a.Elem(), b.Elem(), seen)
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Uint8:
		return nil
	default:
		return fmt.Errorf("%v and %v are of a kind that API types do not have", a, b)
	}
}

func sameStruct(a, b reflect.Type, seen map[[2]reflect.Type]bool) error {
	if a.NumField() != b.NumField() {
		return fmt.Errorf("%v and %v have %d and %d fields", a, b, a.NumField(), b.NumField())
	}
	for i := range a.NumField() {
		one, other := a.Field(i), b.Field(i)
		if one.Name != other.Name {
			return fmt.Errorf("field %d is %v.%s and %v.%s", i, a, one.Name, b, other.Name)
		}
		if err := sameFields(one.Type, other.Type, seen); err != nil {
			return fmt.Errorf("field %s: %w", one.Name, err)
		}
	}
	return nil
}

// ViewAs returns a function that views a value of In as an Out with the same fields. It panics at once if the types
// differ: that is a mistake in the program, and shows when it starts.
func ViewAs[In, Out any]() func(*In) *Out {
	out := reflect.TypeFor[Out]()
	mustBeAlike(reflect.TypeFor[In](), out)
	return func(value *In) *Out { return viewAs(value, out).Interface().(*Out) }
}

func mustBeAlike(in, out reflect.Type) {
	if err := sameFields(in, out, map[[2]reflect.Type]bool{}); err != nil {
		panic(fmt.Sprintf("view %v as %v: %v", in, out, err))
	}
}
