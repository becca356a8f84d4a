package openapi

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	builderutil "k8s.io/kube-openapi/pkg/builder3/util"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The extension that says which kinds a definition or an operation is about.
const kindExtension = "x-kubernetes-group-version-kind"

// Where references to definitions point, in either version.
const (
	v3Reference = "#/components/schemas/"
	v2Reference = "#/definitions/"
)

// Definitions that are not found by their kind.
const (
	definitionAPIGroup        = metaDefinitions + "APIGroup"
	definitionAPIGroupList    = metaDefinitions + "APIGroupList"
	definitionAPIResourceList = metaDefinitions + "APIResourceList"
	definitionAPIVersions     = metaDefinitions + "APIVersions"
	definitionDeleteOptions   = metaDefinitions + "DeleteOptions"
	definitionPatch           = metaDefinitions + "Patch"
	definitionStatus          = metaDefinitions + "Status"
	definitionWatchEvent      = metaDefinitions + "WatchEvent"
	definitionVersion         = "io.k8s.apimachinery.pkg.version.Info"

	metaDefinitions = "io.k8s.apimachinery.pkg.apis.meta.v1."
)

//go:embed definitions.json.gz
var compressedDefinitions []byte

// definition is one entry of the embedded file, as internal/gen writes it.
type definition struct {
	Schema spec.Schema `json:"schema"`
	// V2Schema stands for Schema in OpenAPI v2, which has no oneOf.
	V2Schema     *spec.Schema `json:"v2Schema"`
	Dependencies []string     `json:"dependencies"`
}

// Definitions are the built-in types in OpenAPI v3 by the name of their definition, as a type converter for managed
// fields takes them. They are parsed when first asked for, and shared: nobody may change them.
func Definitions() map[string]*spec.Schema { return builtinSchemas() }

var builtinSchemas = sync.OnceValue(func() map[string]*spec.Schema {
	schemas := make(map[string]*spec.Schema, len(v3Definitions()))
	for name, d := range v3Definitions() {
		schemas[name] = &d.Schema
	}
	return schemas
})

// v3Definitions are the built-in types for the OpenAPI v3 builder. They are shared: nobody may change them.
var v3Definitions = sync.OnceValue(func() map[string]common.OpenAPIDefinition {
	parsed := parseDefinitions(v3Reference)
	definitions := make(map[string]common.OpenAPIDefinition, len(parsed))
	for name, d := range parsed {
		// In v3 a reference may have no neighbours, such as a description of the field.
		definitions[name] = common.OpenAPIDefinition{Schema: *builderutil.WrapRefs(&d.Schema), Dependencies: d.Dependencies}
	}
	return definitions
})

// v2Definitions are the built-in types for the OpenAPI v2 builder. They are shared: nobody may change them.
var v2Definitions = sync.OnceValue(func() map[string]common.OpenAPIDefinition {
	parsed := parseDefinitions(v2Reference)
	definitions := make(map[string]common.OpenAPIDefinition, len(parsed))
	for name, d := range parsed {
		if d.V2Schema != nil {
			d.Schema = *d.V2Schema
		}
		definitions[name] = common.OpenAPIDefinition{Schema: d.Schema, Dependencies: d.Dependencies}
	}
	return definitions
})

// namesByKind finds the definition of a kind.
var namesByKind = sync.OnceValue(func() map[schema.GroupVersionKind]string {
	names := map[schema.GroupVersionKind]string{}
	for name, s := range Definitions() {
		for _, gvk := range kindsOf(s) {
			names[gvk] = name
		}
	}
	return names
})

// parseDefinitions reads the embedded file. What it holds was checked when it was made, so an error is a broken binary.
func parseDefinitions(reference string) map[string]*definition {
	r, err := gzip.NewReader(bytes.NewReader(compressedDefinitions))
	if err != nil {
		panic(fmt.Sprintf("openapi: read the embedded definitions: %v", err))
	}
	data, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Sprintf("openapi: read the embedded definitions: %v", err))
	}
	if reference != v3Reference {
		data = bytes.ReplaceAll(data, []byte(`"$ref":"`+v3Reference), []byte(`"$ref":"`+reference))
	}
	definitions := map[string]*definition{}
	if err := json.Unmarshal(data, &definitions); err != nil {
		panic(fmt.Sprintf("openapi: parse the embedded definitions: %v", err))
	}
	return definitions
}

func kindsOf(s *spec.Schema) []schema.GroupVersionKind {
	list, _ := s.Extensions[kindExtension].([]any)
	kinds := make([]schema.GroupVersionKind, 0, len(list))
	for _, item := range list {
		fields, _ := item.(map[string]any)
		group, _ := fields["group"].(string)
		version, _ := fields["version"].(string)
		kind, _ := fields["kind"].(string)
		kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	}
	return kinds
}

// everywhere are the definitions of kinds that each group version has.
var everywhere = map[string]string{definitionDeleteOptions: "DeleteOptions", definitionWatchEvent: "WatchEvent"}

// ofEach says of a definition that it is a kind of each of gvs. The original is shared, and stays as it is.
func ofEach(s spec.Schema, kind string, gvs []schema.GroupVersion) spec.Schema {
	s.Extensions = maps.Clone(s.Extensions)
	s.AddExtension(kindExtension, kindInEach(kind, gvs))
	return s
}

// kindInEach lists a kind for the core group and each of gvs, in order.
func kindInEach(kind string, gvs []schema.GroupVersion) []any {
	all := slices.Concat([]schema.GroupVersion{{Version: "v1"}}, gvs)
	slices.SortFunc(all, compareGroupVersions)
	list := make([]any, 0, len(all))
	for _, gv := range slices.Compact(all) {
		list = append(list, map[string]any{"group": gv.Group, "version": gv.Version, "kind": kind})
	}
	return list
}
