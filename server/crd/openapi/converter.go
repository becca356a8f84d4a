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

// typeConverter takes objects of a definition apart. A version's types are made when its first object comes: few of many
// definitions are ever written to, and of most only one version.
type typeConverter struct {
	versions map[schema.GroupVersionKind]func() (managedfields.TypeConverter, error)
}

// NewTypeConverter makes the type converter of all versions of a definition, served or not, for an object may have been
// written in any, and of its scale. It is cheap; what it needs is made when it is used.
func NewTypeConverter(crd *apiextensionsv1.CustomResourceDefinition) managedfields.TypeConverter {
	c := &typeConverter{versions: map[schema.GroupVersionKind]func() (managedfields.TypeConverter, error){}}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		c.versions[groupVersionOf(crd, v.Name).WithKind(crd.Spec.Names.Kind)] = sync.OnceValues(func() (managedfields.TypeConverter, error) {
			return convertVersion(crd, v)
		})
	}
	return c
}

func convertVersion(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) (managedfields.TypeConverter, error) {
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

// ObjectToTyped fails for kinds that are not of the definition as the library's converters do: by that the caller knows
// that a version is gone.
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

// objectMetaDefinitions are what an object's metadata is made of. They are shared: nobody may change them.
var objectMetaDefinitions = sync.OnceValue(func() map[string]*spec.Schema { return openapi.Definitions(objectMeta) })

// scaleConverter is the same for all definitions.
var scaleConverter = sync.OnceValues(func() (managedfields.TypeConverter, error) {
	return managedfields.NewTypeConverter(openapi.Definitions(string(scale)), false)
})
