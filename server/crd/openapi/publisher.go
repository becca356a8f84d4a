package openapi

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/openapi"
)

// Lister reports changes of definitions, one after the other.
type Lister interface {
	Subscribe(func(old, new *apiextensionsv1.CustomResourceDefinition))
}

// Documents publishes descriptions of versions.
type Documents interface {
	UpdatePart(gv schema.GroupVersion, part openapi.Part)
	RemovePart(gv schema.GroupVersion, name string)
}

// Publish keeps the documents up to date with the definitions from the lister's start on.
func Publish(definitions Lister, documents Documents) {
	definitions.Subscribe(func(old, new *apiextensionsv1.CustomResourceDefinition) {
		publish(documents, old, new)
	})
}

// publish records a change. It builds nothing.
func publish(documents Documents, old, new *apiextensionsv1.CustomResourceDefinition) {
	now := map[schema.GroupVersion]bool{}
	for gv, version := range servedVersions(new) {
		now[gv] = true
		documents.UpdatePart(gv, part(new, version))
	}
	for gv := range servedVersions(old) {
		if !now[gv] {
			documents.RemovePart(gv, old.Name)
		}
	}
}

// servedVersions returns the versions of a definition that are in documents, by group version.
func servedVersions(crd *apiextensionsv1.CustomResourceDefinition) map[schema.GroupVersion]string {
	if !established(crd) {
		return nil
	}
	versions := map[schema.GroupVersion]string{}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			versions[groupVersionOf(crd, v.Name)] = v.Name
		}
	}
	return versions
}

// part describes a version on demand. The generation identifies the definition's content.
func part(crd *apiextensionsv1.CustomResourceDefinition, version string) openapi.Part {
	return openapi.Part{
		Name: crd.Name,
		Hash: fmt.Sprintf("%s %d", crd.UID, crd.Generation),
		V3:   func() (*spec3.OpenAPI, error) { return V3(crd, version) },
		V2:   func() (*spec.Swagger, error) { return V2(crd, version) },
	}
}
