package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/request"
)

// schema is an OpenAPI schema, limited to the parts used here.
type schema struct {
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Default     json.RawMessage    `json:"default"`
	Enum        []any              `json:"enum"`
	Pattern     string             `json:"pattern"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	MinLength   *int               `json:"minLength"`
	MaxLength   *int               `json:"maxLength"`
	MinItems    *int               `json:"minItems"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Additional  *schemaOrBool      `json:"additionalProperties"`
	AllOf       []*schema          `json:"allOf"`
	OneOf       []*schema          `json:"oneOf"`
	AnyOf       []*schema          `json:"anyOf"`
	Rules       json.RawMessage    `json:"x-kubernetes-validations"`
	Unknown     bool               `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString bool               `json:"x-kubernetes-int-or-string"`
	Embedded    bool               `json:"x-kubernetes-embedded-resource"`
	Kinds       []gvk              `json:"x-kubernetes-group-version-kind"`
}

type gvk struct{ Group, Version, Kind string }

// schemaOrBool is the value of additionalProperties: a schema, or whether any properties are allowed.
type schemaOrBool struct {
	schema *schema
	any    bool
}

func (s *schemaOrBool) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &s.any) == nil {
		return nil
	}
	s.any = true
	return json.Unmarshal(data, &s.schema)
}

// Document holds a server's schemas for the kinds of one group and version.
type Document struct {
	schemas map[string]*schema
	kinds   map[request.Kind]*schema
}

// Read reads an OpenAPI v3 document.
func Read(data []byte) (*Document, error) {
	var doc struct {
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read the server's OpenAPI document: %w", err)
	}
	d := &Document{schemas: doc.Components.Schemas, kinds: map[request.Kind]*schema{}}
	for _, s := range d.schemas {
		if s == nil || len(s.Kinds) != 1 {
			continue // null, or options and lists, which are of every group
		}
		k := s.Kinds[0]
		d.kinds[request.Kind{Group: k.Group, Version: k.Version, Kind: k.Kind}] = s
	}
	return d, nil
}

// Has reports whether the document has a kind.
func (d *Document) Has(kind request.Kind) bool { return d != nil && d.kinds[kind] != nil }

// resolveMost limits the length of a chain of references.
const resolveMost = 16

// resolve follows references. It keeps the first description on the way, since that one is about the field. For a
// broken reference it returns a schema that allows anything.
func (d *Document) resolve(s *schema) *schema {
	first := s
	for range resolveMost {
		var next *schema
		switch {
		case s == nil:
			return &schema{Unknown: true}
		case s.Ref != "":
			next = d.schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		case len(s.AllOf) == 1 && s.Type == "" && len(s.Properties) == 0:
			next = s.AllOf[0]
		default:
			if s == first || first.Description == "" && len(first.Default) == 0 {
				return s
			}
			merged := *s
			merged.Description = first.Description
			if len(first.Default) > 0 {
				merged.Default = first.Default
			}
			return &merged
		}
		s = next
	}
	return &schema{Unknown: true}
}

// types lists the types that a value may have; an empty list allows any.
func (s *schema) types() []string {
	if s.IntOrString || s.Format == "int-or-string" {
		return []string{"integer", "string"}
	}
	if s.Type != "" {
		return []string{s.Type}
	}
	var all []string
	for _, one := range append(slices.Clone(s.OneOf), s.AnyOf...) {
		if one == nil || one.Type == "" {
			return nil // one of several of which one may be anything
		}
		all = append(all, one.Type)
	}
	return all
}

// describe names the type of a value.
func (d *Document) describe(s *schema) string {
	types := s.types()
	switch {
	case len(types) == 0:
		return "anything"
	case len(types) > 1:
		return strings.Join(types, " or ")
	case types[0] == "array" && s.Items != nil:
		return "list of " + d.describe(d.resolve(s.Items))
	case types[0] == "object" && s.Additional != nil && s.Additional.schema != nil:
		return "map of " + d.describe(d.resolve(s.Additional.schema))
	case types[0] == "string" && s.Format == "byte":
		return "base64"
	case types[0] == "string" && s.Format == "date-time":
		return "time"
	}
	return types[0]
}

// first lists the fields at the beginning of an object; status comes last.
var first = []string{"apiVersion", "kind", "metadata", "name", "spec"}

// names lists the properties of a schema in the usual order of manifests.
func (s *schema) names() []string {
	all := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		all = append(all, name)
	}
	place := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i
		}
		if name == "status" {
			return len(first) + 1
		}
		return len(first)
	}
	slices.SortFunc(all, func(a, b string) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return all
}
