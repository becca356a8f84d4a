package openapi

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/openapi"
)

// Lister tells of definitions that change, one after the other.
type Lister interface {
	Subscribe(func(old, new *apiextensionsv1.CustomResourceDefinition))
}

// Documents are where versions are published.
type Documents interface {
	UpdatePart(gv schema.GroupVersion, part openapi.Part)
	RemovePart(gv schema.GroupVersion, name string)
}

// Publish keeps the documents of custom resources as the definitions are, from the lister's start on.
func Publish(definitions Lister, documents Documents) {
	definitions.Subscribe(func(old, new *apiextensionsv1.CustomResourceDefinition) {
		publish(documents, old, new)
	})
}

// publish notes what has changed. It builds nothing.
func publish(documents Documents, old, new *apiextensionsv1.CustomResourceDefinition) {
	now := map[schema.GroupVersion]bool{}
	for gv, version := range published(new) {
		now[gv] = true
		documents.UpdatePart(gv, part(new, version))
	}
	for gv := range published(old) {
		if !now[gv] {
			documents.RemovePart(gv, old.Name)
		}
	}
}

// published are the versions of a definition that documents have, by where they are.
func published(crd *apiextensionsv1.CustomResourceDefinition) map[schema.GroupVersion]string {
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

// part describes a version when asked. A definition is the same as long as its generation is.
func part(crd *apiextensionsv1.CustomResourceDefinition, version string) openapi.Part {
	return openapi.Part{
		Name: crd.Name,
		Hash: fmt.Sprintf("%s %d", crd.UID, crd.Generation),
		V3:   func() (*spec3.OpenAPI, error) { return V3(crd, version) },
		V2:   func() (*spec.Swagger, error) { return V2(crd, version) },
	}
}
