package openapi

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// preserveExtension allows fields that the schema does not name.
const preserveExtension = "x-kubernetes-preserve-unknown-fields"

// reflector describes the kinds of a group version that have no built-in definition, by the fields of their Go types.
type reflector struct {
	kinds map[schema.GroupVersionKind]reflect.Type
	names map[reflect.Type]string
}

// newReflector returns nil if all kinds have built-in definitions.
func newReflector(gv schema.GroupVersion, resources []Resource) *reflector {
	r := &reflector{kinds: map[schema.GroupVersionKind]reflect.Type{}, names: map[reflect.Type]string{}}
	for _, resource := range resources {
		r.add(gv.WithKind(resource.Kind), resource.Type)
		r.add(gv.WithKind(resource.Kind+"List"), resource.ListType)
	}
	if len(r.kinds) == 0 {
		return nil
	}
	return r
}

func (r *reflector) add(gvk schema.GroupVersionKind, t reflect.Type) {
	if t != nil {
		r.kinds[gvk], r.names[t] = t, string(kindModel(gvk))
	}
}

// definitions describes the kinds. reference is the prefix of references to other definitions.
func (r *reflector) definitions(reference string) map[string]common.OpenAPIDefinition {
	if r == nil {
		return nil
	}
	definitions := make(map[string]common.OpenAPIDefinition, len(r.kinds))
	for gvk, t := range r.kinds {
		d := &describer{names: r.names, reference: reference, needs: map[string]bool{}}
		s := d.fields(t)
		s.AddExtension(kindExtension, []any{map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}})
		definitions[string(kindModel(gvk))] = common.OpenAPIDefinition{Schema: *s, Dependencies: slices.Sorted(maps.Keys(d.needs))}
	}
	return definitions
}

// describer describes one Go type.
type describer struct {
	names     map[reflect.Type]string
	reference string
	// needs holds the names of the definitions that it refers to.
	needs map[string]bool
	// within lists the structs that are being described. A struct that contains itself is not described again inside.
	within []reflect.Type
}

// schemaOf describes a type by its definition, or by its parts if it has none.
func (d *describer) schemaOf(t reflect.Type) *spec.Schema {
	t = indirect(t)
	if name := d.definition(t); name != "" {
		d.needs[name] = true
		return spec.RefSchema(d.reference + name)
	}
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return anySchema() // only its own code knows the JSON
	}
	switch t.Kind() {
	case reflect.String:
		return spec.StringProperty()
	case reflect.Bool:
		return spec.BoolProperty()
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint8, reflect.Uint16:
		return spec.Int32Property()
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return spec.Int64Property()
	case reflect.Float32, reflect.Float64:
		return spec.Float64Property()
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return spec.StrFmtProperty("byte")
		}
		return spec.ArrayProperty(d.schemaOf(t.Elem()))
	case reflect.Map:
		return spec.MapProperty(d.schemaOf(t.Elem()))
	case reflect.Struct:
		if !slices.Contains(d.within, t) {
			return d.fields(t)
		}
	}
	return anySchema()
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func anySchema() *spec.Schema {
	s := &spec.Schema{}
	s.AddExtension(preserveExtension, true)
	return s
}

// definition returns the name of the type's own or built-in definition, "" if there is none.
func (d *describer) definition(t reflect.Type) string {
	if name, ok := d.names[t]; ok {
		return name
	}
	if named, ok := reflect.Zero(t).Interface().(interface{ OpenAPIModelName() string }); ok && Has(named.OpenAPIModelName()) {
		return named.OpenAPIModelName()
	}
	return ""
}

// fields describes a struct by its fields. A type that is no struct, such as unstructured content, has unknown fields.
func (d *describer) fields(t reflect.Type) *spec.Schema {
	s := (&spec.Schema{}).Typed("object", "")
	if t.Kind() != reflect.Struct || t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		s.AddExtension(preserveExtension, true)
		return s
	}
	d.within = append(d.within, t)
	defer func() { d.within = d.within[:len(d.within)-1] }()
	var words map[string]string
	if documented, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		words = documented.SwaggerDoc()
	}
	s.Description = words[""]
	for i := range t.NumField() {
		d.field(s, t.Field(i), words)
	}
	return s
}

// field adds a field to a struct's schema, as encoding/json would encode it.
func (d *describer) field(s *spec.Schema, f reflect.StructField, words map[string]string) {
	tag := f.Tag.Get("json")
	name, _, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-" || !f.IsExported() && !f.Anonymous:
		return
	case name == "" && f.Anonymous:
		if t := indirect(f.Type); !slices.Contains(d.within, t) {
			for name, property := range d.fields(t).Properties {
				s.SetProperty(name, property)
			}
		}
		return
	case name == "":
		name = f.Name
	}
	property := d.schemaOf(f.Type)
	if words[name] != "" && property.Ref.String() == "" { // a reference can't have siblings
		property.Description = words[name]
	}
	s.SetProperty(name, *property)
}
