package openapi

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/openapi"
)

// The title and version of documents about custom resources.
var info = spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes CRD Swagger", Version: "v0.1.0"}}

// V3 describes a version in OpenAPI v3. It only refers to built-in definitions.
func V3(crd *apiextensionsv1.CustomResourceDefinition, version string) (*spec3.OpenAPI, error) {
	s, err := section(crd, version, v3)
	if err != nil {
		return nil, err
	}
	return s.V3()
}

// V2 describes a version in OpenAPI v2, as far as possible. It only refers to built-in definitions.
func V2(crd *apiextensionsv1.CustomResourceDefinition, version string) (*spec.Swagger, error) {
	s, err := section(crd, version, v2)
	if err != nil {
		return nil, err
	}
	return s.V2()
}

// section returns the paths and definitions of a version.
func section(crd *apiextensionsv1.CustomResourceDefinition, version string, d dialect) (*openapi.Section, error) {
	v, err := find(crd, version)
	if err != nil {
		return nil, err
	}
	structural, err := structuralOf(v)
	if err != nil {
		return nil, fmt.Errorf("describe version %s of %s: %w", version, crd.Name, err)
	}
	t := newType(crd, v, d)
	return &openapi.Section{
		Info:       info,
		GV:         t.gv,
		Root:       "/apis/" + t.gv.Group + "/" + t.gv.Version,
		Operations: t.operations(),
		Definitions: map[string]common.OpenAPIDefinition{
			string(t.model):     {Schema: *t.object(structural), Dependencies: []string{objectMeta}},
			string(t.listModel): {Schema: *t.list(), Dependencies: []string{listMeta}},
		},
	}, nil
}

func find(crd *apiextensionsv1.CustomResourceDefinition, version string) (*apiextensionsv1.CustomResourceDefinitionVersion, error) {
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Name == version {
			return v, nil
		}
	}
	return nil, fmt.Errorf("describe version %s of %s: there is no such version", version, crd.Name)
}

// structuralOf returns nil for a version without a schema, or with one that can't be described.
func structuralOf(v *apiextensionsv1.CustomResourceDefinitionVersion) (*structuralschema.Structural, error) {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, nil
	}
	in := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, in, nil); err != nil {
		return nil, fmt.Errorf("convert its schema: %w", err)
	}
	if validation.SchemaHasInvalidTypes(in.OpenAPIV3Schema) {
		return nil, nil
	}
	structural, err := structuralschema.NewStructural(in.OpenAPIV3Schema)
	if err != nil || len(structuralschema.ValidateStructural(nil, structural)) > 0 {
		return nil, nil // the condition NonStructuralSchema says why
	}
	return structural.Unfold(), nil
}

// established reports whether a definition's resource is served.
func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd != nil && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
}

// groupVersionOf returns the group version under which a definition's version is served.
func groupVersionOf(crd *apiextensionsv1.CustomResourceDefinition, version string) schema.GroupVersion {
	return schema.GroupVersion{Group: crd.Spec.Group, Version: version}
}
