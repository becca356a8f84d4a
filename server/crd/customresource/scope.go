package customresource

import (
	"fmt"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	kserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/server/handler"
)

// RequestScope is what handlers need to know of the objects of this version. Who serves them adds what is the server's: who
// may, what admission says, how large a body may be. The scope is the caller's own.
func (v *Version) RequestScope() *handler.RequestScope {
	return &handler.RequestScope{
		Namer:                    handler.ContextBasedNaming{},
		Serializer:               v.Serializer,
		StandardSerializers:      standardMediaTypes,
		Creater:                  v.Creater,
		Convertor:                v.Convertor,
		UnsafeConvertor:          v.UnsafeConvertor,
		Defaulter:                v.Defaulter,
		Typer:                    v.Typer,
		EquivalentResourceMapper: v.resource.equivalents,
		TableConvertor:           v.Storage.CustomResource,
		Resource:                 v.Kind.GroupVersion().WithResource(v.resource.resource.Resource),
		Kind:                     v.Kind,
		HubGroupVersion:          v.Kind.GroupVersion(),
		MetaGroupVersion:         metav1.SchemeGroupVersion,
	}
}

// StatusRequestScope is the scope of the status subresource.
func (v *Version) StatusRequestScope() *handler.RequestScope {
	scope := v.RequestScope()
	scope.Subresource = "status"
	return scope
}

// scaleScheme has the one version of a Scale that custom resources are scaled by.
var scaleScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := autoscalingv1.AddToScheme(s); err != nil {
		panic(err) // the library's own types
	}
	metav1.AddToGroupVersion(s, apischema.GroupVersion{Version: "v1"})
	s.AddUnversionedTypes(apischema.GroupVersion{Version: "v1"}, &metav1.Status{})
	return s
}()

var scaleCodecs = kserializer.NewCodecFactory(scaleScheme,
	kserializer.WithStreamingCollectionEncodingToJSON(), kserializer.WithStreamingCollectionEncodingToProtobuf())

// ScaleRequestScope is the scope of the scale subresource, nil if the version has none.
func (v *Version) ScaleRequestScope() *handler.RequestScope {
	if v.Storage.Scale == nil {
		return nil
	}
	scope := v.RequestScope()
	scope.Subresource = "scale"
	scope.Serializer, scope.StandardSerializers = scaleCodecs, nil
	scope.Creater, scope.Convertor, scope.UnsafeConvertor = scaleScheme, scaleScheme, runtime.UnsafeObjectConvertor(scaleScheme)
	scope.Defaulter, scope.Typer = scaleScheme, scaleScheme
	scope.TableConvertor = v.Storage.Scale
	scope.Kind, scope.HubGroupVersion = scaleKind, scaleKind.GroupVersion()
	return scope
}

// FieldManager makes what keeps track of who manages which field of what a scope of this version is about. types knows the
// fields of all versions.
func (v *Version) FieldManager(types managedfields.TypeConverter, scope *handler.RequestScope) (*managedfields.FieldManager, error) {
	var reset map[fieldpath.APIVersion]*fieldpath.Set
	switch scope.Subresource {
	case "":
		reset = v.Storage.CustomResource.GetResetFields()
	case "status":
		reset = v.resource.statusResetFields()
	}
	manager, err := managedfields.NewDefaultCRDFieldManager(types, scope.Convertor, scope.Defaulter, scope.Creater, scope.Kind,
		scope.HubGroupVersion, scope.Subresource, fieldpath.NewExcludeFilterSetMap(reset))
	if err != nil {
		return nil, fmt.Errorf("manage the fields of %s %s: %w", scope.Resource, scope.Subresource, err)
	}
	return manager, nil
}

// statusResetFields are those of the status subresources of all versions.
func (r *Resource) statusResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	all := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, version := range r.Versions {
		if version.Storage.Status != nil {
			maps.Copy(all, version.Storage.Status.GetResetFields())
		}
	}
	return all
}

// newEquivalents says that all versions are the same resource.
func (r *Resource) newEquivalents() runtime.EquivalentResourceMapper {
	registry := runtime.NewEquivalentResourceRegistry()
	for i := range r.definition.Spec.Versions {
		v := &r.definition.Spec.Versions[i]
		gv := apischema.GroupVersion{Group: r.resource.Group, Version: v.Name}
		resource, kind := gv.WithResource(r.resource.Resource), gv.WithKind(r.definition.Status.AcceptedNames.Kind)
		registry.RegisterKindFor(resource, "", kind)
		if v.Subresources != nil && v.Subresources.Status != nil {
			registry.RegisterKindFor(resource, "status", kind)
		}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			registry.RegisterKindFor(resource, "scale", scaleKind)
		}
	}
	return registry
}
