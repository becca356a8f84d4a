package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Schema returns the OpenAPI v3 schema of a kind, with all references resolved. It is made anew and belongs to the
// caller. The error wraps [resolver.ErrSchemaNotFound] if nothing describes the kind.
func (s *Service) Schema(kind schema.GroupVersionKind) (*spec.Schema, error) {
	if name, found := namesByKind()[kind]; found {
		return inPlace(name, Definitions(name))
	}
	document := s.document(strings.TrimPrefix(rootPath(kind.GroupVersion()), "/"))
	if document == nil {
		return nil, fmt.Errorf("%s is not served: %w", kind.GroupVersion(), resolver.ErrSchemaNotFound)
	}
	own, needed, err := document.definitions()
	if err != nil {
		return nil, err
	}
	for name, definition := range own {
		var kinds []schema.GroupVersionKind
		if err := definition.Extensions.GetObject(kindExtension, &kinds); err != nil {
			return nil, fmt.Errorf("%s in %s: %w", name, document.path, err)
		}
		if slices.Contains(kinds, kind) {
			maps.Copy(own, Definitions(needed...))
			return inPlace(name, own)
		}
	}
	return nil, fmt.Errorf("nothing describes %s: %w", kind, resolver.ErrSchemaNotFound)
}

// inPlace resolves the references of a definition.
func inPlace(name string, definitions map[string]*spec.Schema) (*spec.Schema, error) {
	return resolver.PopulateRefs(func(reference string) (*spec.Schema, bool) {
		definition, found := definitions[strings.TrimPrefix(reference, v3Reference)]
		return definition, found
	}, name)
}

// definitions returns the v3 definitions of a document's own parts, and the names of the built-in ones that they need.
func (t *document) definitions() (own map[string]*spec.Schema, needed []string, err error) {
	own = map[string]*spec.Schema{}
	for _, f := range t.fragments(v3) {
		_, members, err := f.expand()
		if err == nil {
			err = json.Unmarshal(slices.Concat([]byte("{"), members, []byte("}")), &own)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the definitions of %s: %w", t.path, err)
		}
		needed = append(needed, f.shared...)
	}
	return own, needed, nil
}
