package openapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/server/openapi/operation"
)

// dialect is a version of OpenAPI; its value is the prefix of references.
type dialect string

const (
	v3 dialect = "#/components/schemas/"
	v2 dialect = "#/definitions/"
)

// Built-in definitions.
const (
	objectMeta    = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	listMeta      = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
	typeMeta      = "io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta"
	status        = operation.Model("io.k8s.apimachinery.pkg.apis.meta.v1.Status")
	patch         = operation.Model("io.k8s.apimachinery.pkg.apis.meta.v1.Patch")
	deleteOptions = operation.Model("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
	scale         = operation.Model("io.k8s.api.autoscaling.v1.Scale")
)

// Extensions of definitions.
const (
	kindExtension       = "x-kubernetes-group-version-kind"
	selectableExtension = "x-kubernetes-selectable-fields"
	preserveExtension   = "x-kubernetes-preserve-unknown-fields"
	embeddedExtension   = "x-kubernetes-embedded-resource"
)

// customType describes a version of a custom resource in one dialect.
type customType struct {
	dialect          dialect
	gv               schema.GroupVersion
	names            apiextensionsv1.CustomResourceDefinitionNames
	namespaced       bool
	preservesAll     bool
	version          *apiextensionsv1.CustomResourceDefinitionVersion
	model, listModel operation.Model
}

func newType(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion, d dialect) *customType {
	t := &customType{
		dialect:      d,
		gv:           groupVersionOf(crd, v.Name),
		names:        crd.Spec.Names,
		namespaced:   crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		preservesAll: crd.Spec.PreserveUnknownFields,
		version:      v,
	}
	t.model, t.listModel = t.modelOf(t.names.Kind), t.modelOf(t.names.ListKind)
	return t
}

// modelOf names the definition of a kind: com.example.stable.v1.CronTab. In v2, all definitions of the server share one
// document, and a built-in definition keeps a name that both want.
func (t *customType) modelOf(kind string) operation.Model {
	group := strings.Split(t.gv.Group, ".")
	slices.Reverse(group)
	name := strings.Join(group, ".") + "." + t.gv.Version + "." + kind
	if t.dialect == v2 && openapi.Has(name) {
		name += "_v2"
	}
	return operation.Model(name)
}

func (t *customType) ref(name string) *spec.Schema { return spec.RefSchema(string(t.dialect) + name) }

// object describes the kind by its schema. A nil schema leaves its fields unknown.
func (t *customType) object(structural *structuralschema.Structural) *spec.Schema {
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	switch {
	case structural == nil:
	case t.dialect == v2 && (structural.XPreserveUnknownFields || t.preservesAll):
		// kubectl refuses fields outside the properties if there are any properties, even apiVersion, kind and
		// metadata.
	default:
		if t.dialect == v2 {
			simplify(structural)
		}
		s = structural.ToKubeOpenAPI()
		s.SetProperty("metadata", *t.ref(objectMeta).WithDescription(descriptions().object))
		t.addTypeMeta(s)
		t.embed(s)
	}
	t.extend(s, []any{map[string]any{"group": t.gv.Group, "version": t.gv.Version, "kind": t.names.Kind}})
	return s
}

// list describes the list kind. Its extension intentionally has another Go type than that of the object: type
// converters then leave out list kinds, since nothing applies them.
func (t *customType) list() *spec.Schema {
	items := spec.ArrayProperty(t.ref(string(t.model))).WithDescription("List of " + t.names.Plural +
		". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md")
	s := (&spec.Schema{}).Typed("object", "").WithRequired("items").
		WithDescription(fmt.Sprintf("%s is a list of %s", t.names.ListKind, t.names.Kind)).
		SetProperty("items", *items).
		SetProperty("metadata", *t.ref(listMeta).WithDescription(descriptions().list))
	t.addTypeMeta(s)
	t.extend(s, []map[string]string{{"group": t.gv.Group, "version": t.gv.Version, "kind": t.names.ListKind}})
	return s
}

func (t *customType) extend(s *spec.Schema, kinds any) {
	s.AddExtension(kindExtension, kinds)
	if len(t.version.SelectableFields) == 0 {
		return
	}
	fields := make([]any, 0, len(t.version.SelectableFields))
	for _, f := range t.version.SelectableFields {
		fields = append(fields, map[string]any{"fieldPath": strings.TrimPrefix(f.JSONPath, ".")})
	}
	s.AddExtension(selectableExtension, fields)
}

func (t *customType) addTypeMeta(s *spec.Schema) {
	for _, name := range []string{"apiVersion", "kind"} {
		s.SetProperty(name, typeMetaDefinition().Properties[name])
	}
}

// typeMetaDefinition is shared and must not be changed.
var typeMetaDefinition = sync.OnceValue(func() *spec.Schema { return openapi.Definitions(typeMeta)[typeMeta] })

// embed adds the fields of an object to all embedded resources.
func (t *customType) embed(s *spec.Schema) {
	for name, property := range s.Properties {
		t.embed(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		t.embed(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		t.embed(s.AdditionalProperties.Schema)
	}
	if preserves, _ := s.Extensions.GetBool(preserveExtension); preserves && t.dialect == v2 {
		return // again: any property would be taken for all that there are
	}
	if embedded, _ := s.Extensions.GetBool(embeddedExtension); !embedded {
		return
	}
	s.SetProperty("apiVersion",
		*spec.StringProperty().WithDescription("apiVersion defines the versioned schema of this representation of an object. " +
			"More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"))
	s.SetProperty("kind",
		*spec.StringProperty().WithDescription("kind is a string value representing the type of this object. In CamelCase. " +
			"More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"))
	s.SetProperty("metadata", *t.ref(objectMeta).WithDescription(descriptions().object))
	for _, name := range []string{"kind", "apiVersion"} {
		if !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
}

type metadataDescriptions struct{ object, list string }

var descriptions = sync.OnceValue(func() metadataDescriptions {
	return metadataDescriptions{
		object: metav1.PartialObjectMetadata{}.SwaggerDoc()["metadata"],
		list:   metav1.PartialObjectMetadataList{}.SwaggerDoc()["metadata"],
	}
})
