package schema

import (
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/trace"
)

// maxUnknown limits the unknown fields of one object in an answer. Strict decoding of built-in types has the
// same limit.
const maxUnknown = 100

// removals counts removed fields and holds the paths of the first ones.
type removals struct {
	names int // how many paths are wanted
	paths []string
	count int
}

func (d *removals) full() bool { return len(d.paths) >= d.names }

func (d *removals) add(above *spot, name string) {
	if !d.full() {
		at := above.field(name)
		d.paths = append(d.paths, at.String())
	}
	d.count++
}

// text lists the fields for a step.
func (d *removals) text() string {
	l := trace.ListOf(d.paths)
	l.Skip(d.count - len(d.paths))
	return l.String()
}

// finder finds fields that will be dropped. Most objects have none, so it first counts, without building paths.
// If there are some, it builds their paths in the order of names, up to the limit.
type finder struct {
	found  *removals
	naming bool
}

// find runs a walk that finds fields of an object.
func (d *removals) find(walk func(*finder)) {
	counter := &finder{found: &removals{}}
	walk(counter)
	if n := counter.found.count; n > 0 {
		count, before := d.count+n, len(d.paths)
		walk(&finder{found: d, naming: true})
		d.count = count
		slices.Sort(d.paths[before:]) // as the library does
	}
}

func (f *finder) ended() bool { return f.naming && f.found.full() }

// at returns the place below which the walk goes on, nil if it builds no paths.
func (f *finder) at(here spot) *spot {
	if !f.naming {
		return nil
	}
	return here.clone()
}

// each calls do with the fields of an object.
func (f *finder) each(x map[string]any, do func(name string, value any)) {
	if !f.naming {
		for name, value := range x {
			do(name, value)
		}
		return
	}
	for _, name := range namesOf(x) {
		if f.ended() {
			return
		}
		do(name, x[name])
	}
}

// unknown finds the fields that the library's pruning drops.
func (f *finder) unknown(at *spot, x any, s *structuralschema.Structural) {
	preserved := s != nil && s.XPreserveUnknownFields
	switch x := x.(type) {
	case map[string]any:
		f.each(x, func(name string, value any) {
			if s == nil {
				f.found.add(at, name)
				return
			}
			if s.XEmbeddedResource && (name == "apiVersion" || name == "kind" || name == "metadata") {
				return
			}
			if prop, ok := s.Properties[name]; ok {
				f.unknown(f.at(at.field(name)), value, &prop)
			} else if s.AdditionalProperties != nil {
				f.unknown(f.at(at.field(name)), value, s.AdditionalProperties.Structural)
			} else if !preserved {
				f.found.add(at, name)
			}
		})
	case []any:
		if preserved && s.Items == nil {
			return
		}
		for i := 0; i < len(x) && !f.ended(); i++ {
			if nested(x[i]) {
				f.unknown(f.at(at.atIndex(i)), x[i], itemSchema(s, preserved))
			}
		}
	}
}

// hasUnknown reports whether the library's pruning would drop a field of x. Most objects have no such field, and the
// library copies the schema of every field that it visits. This copies only those of objects and lists.
func hasUnknown(x any, s *structuralschema.Structural) bool {
	preserved := s != nil && s.XPreserveUnknownFields
	switch x := x.(type) {
	case map[string]any:
		if s == nil {
			return len(x) > 0
		}
		for name, value := range x {
			if s.XEmbeddedResource && (name == "apiVersion" || name == "kind" || name == "metadata") {
				continue
			}
			if _, ok := s.Properties[name]; !ok && s.AdditionalProperties == nil {
				if !preserved {
					return true
				}
				continue
			}
			if nested(value) && hasUnknown(value, fieldOf(name, s)) {
				return true
			}
		}
	case []any:
		if preserved && s.Items == nil {
			return false
		}
		of := itemSchema(s, preserved)
		for _, item := range x {
			if nested(item) && hasUnknown(item, of) {
				return true
			}
		}
	}
	return false
}

// itemSchema returns the schema of items. If a list preserves unknown fields, so do its items.
func itemSchema(s *structuralschema.Structural, preserved bool) *structuralschema.Structural {
	if s == nil || s.Items == nil || !preserved || s.Items.XPreserveUnknownFields {
		return items(s)
	}
	preserving := *s.Items
	preserving.XPreserveUnknownFields = true
	return &preserving
}

func items(s *structuralschema.Structural) *structuralschema.Structural {
	if s == nil {
		return nil
	}
	return s.Items
}

// nulls finds the nulls that the library drops: those that are not allowed, and that no default replaces.
func (f *finder) nulls(at *spot, x any, s *structuralschema.Structural) {
	switch x := x.(type) {
	case map[string]any:
		f.each(x, func(name string, value any) {
			of := fieldOf(name, s)
			if value == nil && of != nil && !of.Nullable && of.Default.Object == nil {
				f.found.add(at, name)
			} else if nested(value) {
				f.nulls(f.at(at.field(name)), value, of)
			}
		})
	case []any:
		for i := 0; i < len(x) && !f.ended(); i++ {
			if nested(x[i]) {
				f.nulls(f.at(at.atIndex(i)), x[i], items(s))
			}
		}
	}
}

// fieldOf returns the schema of a field, nil if it has none.
func fieldOf(name string, s *structuralschema.Structural) *structuralschema.Structural {
	if s == nil {
		return nil
	}
	if prop, ok := s.Properties[name]; ok {
		return &prop
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// coercion coerces the metadata of embedded resources, as the library does. The library would build the paths
// of all unknown fields there.
type coercion struct {
	dropInvalid bool
	unknown     *removals // nil if it is not reported
}

func (c *coercion) coerce(at *spot, x any, s *structuralschema.Structural) *field.Error {
	if s == nil {
		return nil
	}
	switch x := x.(type) {
	case map[string]any:
		if s.XEmbeddedResource {
			if err := c.resource(at, x); err != nil {
				return err
			}
		}
		for name, value := range x {
			below, of := at.field(name), s.AdditionalProperties
			if !nested(value) {
				continue
			}
			if prop, ok := s.Properties[name]; ok {
				if err := c.coerce(below.clone(), value, &prop); err != nil {
					return err
				}
			} else if of != nil {
				below.key = true
				if err := c.coerce(below.clone(), value, of.Structural); err != nil {
					return err
				}
			}
		}
	case []any:
		if s.Items == nil {
			return nil
		}
		for i, value := range x {
			if err := c.coerce(at.atIndex(i).clone(), value, s.Items); err != nil {
				return err
			}
		}
	}
	return nil
}

// resource coerces the apiVersion, kind and metadata of an embedded resource.
func (c *coercion) resource(at *spot, x map[string]any) *field.Error {
	for _, name := range []string{"apiVersion", "kind"} {
		if value, found := x[name]; found {
			if _, ok := value.(string); !ok && c.dropInvalid {
				delete(x, name)
			} else if !ok {
				return field.Invalid(at.path().Child(name), value, "must be a string")
			}
		}
	}
	value, found := x["metadata"]
	if !found {
		return nil
	}
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(x, objectmeta.ObjectMetaOptions{
		DropMalformedFields: c.dropInvalid, ReturnUnknownFieldPaths: c.unknown != nil,
	})
	for _, name := range unknown {
		c.unknown.add(at, name)
	}
	switch {
	case err != nil && !c.dropInvalid:
		return field.Invalid(at.path().Child("metadata"), value, err.Error())
	case err != nil || !found:
		return nil
	}
	if err := objectmeta.SetObjectMeta(x, meta); err != nil {
		return field.Invalid(at.path().Child("metadata"), value, err.Error())
	}
	if meta.CreationTimestamp.IsZero() {
		unstructured.RemoveNestedField(x, "metadata", "creationTimestamp")
	}
	return nil
}
