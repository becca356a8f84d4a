package openapi

import (
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// simplify removes, in place, the parts of a schema that OpenAPI v2 and its readers do not understand.
func simplify(s *structuralschema.Structural) {
	visitor := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
		simplifyLevel(s)
		return true
	}}
	visitor.Visit(s)
}

// simplifyLevel runs before the fields are simplified, so it still sees which of them may be null.
func simplifyLevel(s *structuralschema.Structural) {
	if v := s.ValueValidation; v != nil {
		v.AllOf, v.OneOf, v.AnyOf, v.Not = nil, nil, nil, nil
	}
	// A value that may be null is described as anything. kubectl does not accept items or properties without a type.
	if s.Nullable {
		s.Nullable, s.Type, s.Items, s.Properties = false, "", nil, nil
	}
	// So is an object that may have unknown fields: kubectl would refuse them.
	if s.XPreserveUnknownFields {
		s.Items, s.Properties = nil, nil
		if s.Type == "object" {
			s.Type = ""
		}
	}
	if s.Type == "array" && s.Items == nil {
		s.Type = "" // nor can it read an array of nothing
	}
	if s.ValueValidation == nil {
		return
	}
	// A null field counts as missing, so a required field that may be null is optional here.
	for name, field := range s.Properties {
		if !field.Nullable {
			continue
		}
		required := slices.DeleteFunc(slices.Clone(s.ValueValidation.Required), func(r string) bool { return r == name })
		if s.ValueValidation.Required = required; len(required) == 0 {
			s.ValueValidation.Required = nil
		}
	}
	if a := s.AdditionalProperties; a != nil && a.Structural != nil && a.Structural.Nullable {
		s.ValueValidation.Required = nil
	}
}
