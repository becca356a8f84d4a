package definition

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// warnings reports allowed but surprising parts: a format that is not checked, and a set whose items can't be
// compared. It does not repeat warnings about old, which may be nil.
func warnings(definition, old *apiextensions.CustomResourceDefinitionSpec) []string {
	var texts []string
	for _, find := range []func(*apiextensions.CustomResourceDefinitionSpec) []string{unrecognizedFormats, setsOfObjects} {
		var known []string
		if old != nil {
			known = find(old)
		}
		for _, text := range find(definition) {
			if _, before := slices.BinarySearch(known, text); !before {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// unrecognizedFormats returns one text for each occurrence, in order.
func unrecognizedFormats(definition *apiextensions.CustomResourceDefinitionSpec) (texts []string) {
	version := environment.DefaultCompatibilityVersion()
	eachSchema(definition, func(s *apiextensions.JSONSchemaProps) {
		if s.Format == "" {
			return
		}
		format := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{s.Type}, Format: s.Format}}
		for _, f := range schemavalidation.GetUnrecognizedFormats(format, version) {
			texts = append(texts, fmt.Sprintf("unrecognized format %q", f))
		}
	})
	slices.Sort(texts)
	return texts
}

// setsOfObjects returns each text once, in order.
func setsOfObjects(definition *apiextensions.CustomResourceDefinitionSpec) (texts []string) {
	eachSchema(definition, func(s *apiextensions.JSONSchemaProps) {
		if s.XListType == nil || *s.XListType != "set" || s.Items == nil || s.Items.Schema == nil {
			return
		}
		if items := s.Items.Schema.Type; items == "object" || items == "array" {
			texts = append(texts,
				fmt.Sprintf(
					"x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules",
					items))
		}
	})
	slices.Sort(texts)
	return slices.Compact(texts)
}

// eachSchema visits all schemas within schemas, of all versions.
func eachSchema(definition *apiextensions.CustomResourceDefinitionSpec, visit func(*apiextensions.JSONSchemaProps)) {
	// HasSchemaWith ends when the function returns true, which it never does.
	validation.HasSchemaWith(definition, func(top *apiextensions.JSONSchemaProps) bool {
		return validation.SchemaHas(top, func(s *apiextensions.JSONSchemaProps) bool {
			visit(s)
			return false
		})
	})
}
