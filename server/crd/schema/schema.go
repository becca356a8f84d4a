package schema

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/coverage"
)

// Schema applies the schema of one version of a CustomResourceDefinition to objects. It is immutable and shared
// by requests.
type Schema struct {
	kind apischema.GroupVersionKind
	// preserveUnknown is the CRD's legacy spec.preserveUnknownFields: nothing is pruned, and the schema need
	// not be structural.
	preserveUnknown bool
	structural      *structuralschema.Structural
	uses            uses
	limits          Limits
	validators      func() (*validators, error)
	rules           func() *rules
	defaults        func() *defaults
	// observe (optional) is called after each evaluation of a rule. crd and at name the schema's place.
	observe coverage.Observer
	crd, at string
}

// validators check values. A nil one has nothing to check.
type validators struct {
	object, status *node
}

// Compile creates the Schema of one version. It fails if the schema is not structural, which validation of CRDs
// prevents. The validators and CEL rules, which only writes need, are compiled at the first write.
func Compile(crd *apiextensionsv1.CustomResourceDefinition, version string, limits Limits) (*Schema, error) {
	v := find(crd, version)
	if v == nil {
		return nil, fmt.Errorf("compile the schema of CustomResourceDefinition %s: it has no version %q", crd.Name, version)
	}
	kind := crd.Status.AcceptedNames.Kind
	if kind == "" {
		kind = crd.Spec.Names.Kind
	}
	s := &Schema{
		kind:            apischema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: kind},
		preserveUnknown: crd.Spec.PreserveUnknownFields,
		limits:          limits.orDefault(),
	}
	props, err := internalSchema(v)
	if err == nil && props != nil {
		s.structural, err = structural(props, s.preserveUnknown)
	}
	if err != nil {
		return nil, fmt.Errorf("compile the schema of version %s of CustomResourceDefinition %s: %w", version, crd.Name, err)
	}
	s.uses.add(s.structural)
	s.validators = sync.OnceValues(func() (*validators, error) { return newValidators(v) })
	s.defaults = sync.OnceValue(func() *defaults { return newDefaults(s.structural) })
	s.rules = sync.OnceValue(func() *rules { return newRules(s.structural, s.at) })
	return s, nil
}

// Observe sets the observer of the rules, for the schema of a version of a definition. It must be called before the
// first validation.
func (s *Schema) Observe(o coverage.Observer, crd *apiextensionsv1.CustomResourceDefinition) {
	index := slices.IndexFunc(crd.Spec.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == s.kind.Version })
	s.observe, s.crd, s.at = o, crd.Name, fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", index)
}

func find(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Name == version {
			return v
		}
	}
	return nil
}

// internalSchema returns a version's schema in the internal form of the libraries, or nil. It is converted
// again for the validators: to keep it from Compile on would cost memory for every CRD, written to or not.
func internalSchema(v *apiextensionsv1.CustomResourceDefinitionVersion) (*apiextensions.JSONSchemaProps, error) {
	if v.Schema == nil {
		return nil, nil
	}
	out := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, out,
		nil); err != nil {
		return nil, fmt.Errorf("to the internal version: %w", err)
	}
	return out.OpenAPIV3Schema, nil
}

// structural returns the structural form of a schema. If preserveUnknown is set, a schema that is not
// structural has none.
func structural(props *apiextensions.JSONSchemaProps, preserveUnknown bool) (*structuralschema.Structural, error) {
	s, err := structuralschema.NewStructural(props)
	if preserveUnknown {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	// The defaults still belong to props, and PruneDefaults changes them.
	s = s.DeepCopy()
	if err := structuraldefaulting.PruneDefaults(s); err != nil {
		return nil, fmt.Errorf("prune the defaults: %w", err)
	}
	return s, nil
}

func newValidators(v *apiextensionsv1.CustomResourceDefinitionVersion) (*validators, error) {
	props, err := internalSchema(v)
	if err != nil {
		return nil, err
	}
	openapi, err := openAPISchema(props)
	if err != nil {
		return nil, err
	}
	all := newNodes()
	out := validators{object: all.node(openapi)}
	if v.Subresources != nil && v.Subresources.Status != nil {
		if status, ok := openapi.Properties["status"]; ok {
			out.status = all.node(&status)
		}
	}
	return &out, nil
}

// GroupVersionKind returns the kind and version of objects of this schema.
func (s *Schema) GroupVersionKind() apischema.GroupVersionKind { return s.kind }

// Structural returns the structural schema. It is shared and must not be changed. It is nil if the version has
// no schema, or one that is not structural because the CRD preserves unknown fields.
func (s *Schema) Structural() *structuralschema.Structural { return s.structural }
