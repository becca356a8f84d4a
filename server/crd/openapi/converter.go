package openapi

import (
	"fmt"
	"maps"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/kx-apiserver/kx/server/openapi"
)

// typeConverter adds type information to the objects of a definition. It builds a version's types at the first
// object: of many definitions only few are ever written to, and mostly in one version.
type typeConverter struct {
	versions map[schema.GroupVersionKind]func() (managedfields.TypeConverter, error)
}

// NewTypeConverter creates the type converter of a definition: for all versions, since an object may have been
// written in any, and for its scale. It is cheap; types are built when they are used.
func NewTypeConverter(crd *apiextensionsv1.CustomResourceDefinition) managedfields.TypeConverter {
	c := &typeConverter{versions: map[schema.GroupVersionKind]func() (managedfields.TypeConverter, error){}}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		c.versions[groupVersionOf(crd, v.Name).WithKind(crd.Spec.Names.Kind)] = sync.OnceValues(
			func() (managedfields.TypeConverter, error) {
				return convertVersion(crd, v)
			})
	}
	return c
}

func convertVersion(crd *apiextensionsv1.CustomResourceDefinition,
	v *apiextensionsv1.CustomResourceDefinitionVersion) (managedfields.TypeConverter, error) {
	structural, err := structuralOf(v)
	if err != nil {
		return nil, fmt.Errorf("make types of version %s of %s: %w", v.Name, crd.Name, err)
	}
	t := newType(crd, v, v3)
	definitions := maps.Clone(objectMetaDefinitions())
	definitions[string(t.model)] = t.object(structural)
	converter, err := managedfields.NewTypeConverter(definitions, crd.Spec.PreserveUnknownFields)
	if err != nil {
		return nil, fmt.Errorf("make types of version %s of %s: %w", v.Name, crd.Name, err)
	}
	return converter, nil
}

// ObjectToTyped fails for foreign kinds with the error of the library's converters, which tells callers that a
// version was removed.
func (c *typeConverter) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	version := scaleConverter
	if own, ok := c.versions[obj.GetObjectKind().GroupVersionKind()]; ok {
		version = own
	}
	converter, err := version()
	if err != nil {
		return nil, err
	}
	return converter.ObjectToTyped(obj, options...)
}

// TypedToObject needs no types.
func (c *typeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	converter, err := scaleConverter()
	if err != nil {
		return nil, err
	}
	return converter.TypedToObject(value)
}

// objectMetaDefinitions describe metadata. They are shared and must not be changed.
var objectMetaDefinitions = sync.OnceValue(func() map[string]*spec.Schema { return openapi.Definitions(objectMeta) })

// scaleConverter serves all definitions.
var scaleConverter = sync.OnceValues(func() (managedfields.TypeConverter, error) {
	return managedfields.NewTypeConverter(openapi.Definitions(string(scale)), false)
})
