package crd

import (
	"maps"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/openapi"
)

const (
	objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	scaleModel = "io.k8s.api.autoscaling.v1.Scale"

	extensionGVK             = "x-kubernetes-group-version-kind"
	extensionEmbedded        = "x-kubernetes-embedded-resource"
	extensionPreserveUnknown = "x-kubernetes-preserve-unknown-fields"
)

// newTypeConverter makes what tells the fields of a definition's objects apart, in all versions, and those of its Scales.
func newTypeConverter(crd *lister.Definition, resource *customresource.Resource) (managedfields.TypeConverter, error) {
	models := maps.Clone(sharedModels())
	for name, v := range resource.Versions {
		model := &spec.Schema{}
		if structural := v.Schema.Structural(); structural != nil && !crd.Spec.PreserveUnknownFields {
			model = structural.ToKubeOpenAPI()
		} else {
			model.AddExtension(extensionPreserveUnknown, true)
		}
		model.Type = spec.StringOrArray{"object"}
		addIdentity(model)
		embedded(model)
		model.AddExtension(extensionGVK, []any{gvkExtension(v.Kind)})
		models[name] = model
	}
	return managedfields.NewTypeConverter(models, crd.Spec.PreserveUnknownFields)
}

func gvkExtension(gvk schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}

// addIdentity gives an object what all have, whatever its schema says of it.
func addIdentity(s *spec.Schema) {
	properties := map[string]spec.Schema{}
	maps.Copy(properties, s.Properties)
	properties["apiVersion"], properties["kind"] = *spec.StringProperty(), *spec.StringProperty()
	properties["metadata"] = *spec.RefSchema("#/components/schemas/" + objectMeta)
	s.Properties = properties
}

// embedded does the same for the objects within an object.
func embedded(s *spec.Schema) {
	for name, property := range s.Properties {
		embedded(&property)
		if is, _ := property.Extensions.GetBool(extensionEmbedded); is {
			addIdentity(&property)
		}
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		embedded(s.Items.Schema)
		if is, _ := s.Items.Schema.Extensions.GetBool(extensionEmbedded); is {
			addIdentity(s.Items.Schema)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		embedded(s.AdditionalProperties.Schema)
		if is, _ := s.AdditionalProperties.Schema.Extensions.GetBool(extensionEmbedded); is {
			addIdentity(s.AdditionalProperties.Schema)
		}
	}
}

// sharedModels are those of the built-in types that custom resources and their Scales refer to. All definitions together
// would be a hundred times as much, for each definition.
var sharedModels = sync.OnceValue(func() map[string]*spec.Schema {
	all, models := openapi.Definitions(), map[string]*spec.Schema{}
	var add func(name string)
	add = func(name string) {
		if models[name] != nil || all[name] == nil {
			return
		}
		models[name] = all[name]
		for _, reference := range references(all[name]) {
			add(reference[strings.LastIndexByte(reference, '/')+1:])
		}
	}
	add(objectMeta)
	add(scaleModel)
	return models
})

// references are what a built-in type refers to.
func references(s *spec.Schema) []string {
	var found []string
	if ref := s.Ref.String(); ref != "" {
		found = append(found, ref)
	}
	for i := range s.AllOf {
		found = append(found, references(&s.AllOf[i])...)
	}
	for _, property := range s.Properties {
		found = append(found, references(&property)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		found = append(found, references(s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		found = append(found, references(s.AdditionalProperties.Schema)...)
	}
	return found
}
