package endpoint

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/handler/fieldorder"
	"github.com/kx-apiserver/kx/server/openapi"
)

// builtinTypes knows which lists of built-in types are maps or sets, and which fields are atomic. It makes the type of
// a kind at its first object. That takes some milliseconds for the largest kinds, and only few kinds are ever written.
type builtinTypes struct {
	kinds sync.Map // schema.GroupVersionKind → func() managedfields.TypeConverter, only for existing kinds
}

// types depend only on the binary, so all servers of a process share them.
var types builtinTypes

func (t *builtinTypes) converter(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	if made, ok := t.kinds.Load(gvk); ok {
		return made.(func() managedfields.TypeConverter)()
	}
	if !openapi.HasKind(gvk) {
		return noTypes
	}
	made, _ := t.kinds.LoadOrStore(gvk, sync.OnceValue(func() managedfields.TypeConverter {
		return newTypes(openapi.DefinitionsOfKind(gvk))
	}))
	return made.(func() managedfields.TypeConverter)()
}

// noTypes fails for every kind with the error of the library's converters, by which callers recognise an unknown kind.
var noTypes = newTypes(nil)

func newTypes(definitions map[string]*spec.Schema) managedfields.TypeConverter {
	converter, err := managedfields.NewTypeConverter(definitions, false)
	if err != nil {
		panic(fmt.Sprintf("endpoint: make a type converter of built-in definitions: %v", err))
	}
	return converter
}

func (t *builtinTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return t.converter(obj.GetObjectKind().GroupVersionKind()).ObjectToTyped(obj, options...)
}

// typesOf returns the types of a kind's fields. For a kind without a built-in definition it deduces them from the
// objects: a list is a list and a map is a map, and each list is owned as a whole.
func typesOf(kind schema.GroupVersionKind) managedfields.TypeConverter {
	if openapi.HasKind(kind) {
		return &types
	}
	return managedfields.NewDeducedTypeConverter()
}

// TypedToObject needs no types.
func (t *builtinTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return noTypes.TypedToObject(value)
}

// NewFieldManager returns the same field manager that the handlers of a built-in resource have, for writes that pass no
// handler.
func NewFieldManager(known *runtime.Scheme, resource schema.GroupVersionResource, subresource string,
	storage rest.Storage) (handler.FieldManager, error) {
	kind, err := GetResourceKind(resource.GroupVersion(), storage, known)
	if err != nil {
		return nil, err
	}
	hub, err := hubKind(storage, known)
	if err != nil {
		return nil, err
	}
	return fieldManagerOf(&handler.RequestScope{
		Creater: known, Defaulter: known, UnsafeConvertor: runtime.UnsafeObjectConvertor(known), FieldTypes: typesOf(kind),
		Resource: resource, Subresource: subresource, Kind: kind, HubGroupVersion: hub.GroupVersion(),
	}, storage)
}

// fieldManagerOf returns the field manager for a storage's objects, or nil if the storage keeps no objects.
func fieldManagerOf(scope *handler.RequestScope, storage rest.Storage) (handler.FieldManager, error) {
	switch storage.(type) {
	case rest.Creater, rest.NamedCreater, rest.Updater:
	default:
		return nil, nil
	}
	var resetFields map[fieldpath.APIVersion]fieldpath.Filter
	if strategy, ok := storage.(rest.ResetFieldsStrategy); ok {
		resetFields = fieldpath.NewExcludeFilterSetMap(strategy.GetResetFields())
	}
	convertor := scope.UnsafeConvertor
	if scope.Kind.Group != scope.HubGroupVersion.Group {
		convertor = &groupConvertor{ObjectConvertor: convertor, creater: scope.Creater, hub: scope.HubGroupVersion, kind: scope.Kind.Kind}
	}
	manager, err := managedfields.NewDefaultFieldManager(
		fieldorder.NewConverter(scope.FieldTypes), convertor, scope.Defaulter, scope.Creater,
		scope.Kind, scope.HubGroupVersion, scope.Subresource, resetFields)
	if err != nil {
		return nil, fmt.Errorf("field manager of %s/%s: %w", scope.Resource, scope.Subresource, err)
	}
	return manager, nil
}

// groupConvertor converts a kind such as Scale between the groups that have it. It recognizes the kind by its name
// alone.
type groupConvertor struct {
	runtime.ObjectConvertor
	creater runtime.ObjectCreater
	hub     schema.GroupVersion
	kind    string
}

func (c *groupConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	to, ok := target.(schema.GroupVersion)
	if !ok {
		return c.ObjectConvertor.ConvertToVersion(in, target)
	}
	if _, err := c.creater.New(to.WithKind(c.kind)); err != nil && to.Version == c.hub.Version {
		// A field manager assumes that the hub has the group of the object that it converts. That group may not have
		// the kind.
		to = c.hub
	}
	if out, err := c.ObjectConvertor.ConvertToVersion(in, to); err == nil {
		return out, nil
	}
	if u, ok := in.(*unstructured.Unstructured); ok {
		obj, err := c.creater.New(u.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
			return nil, err
		}
		in = obj
	}
	out, err := c.creater.New(to.WithKind(c.kind))
	if err != nil {
		return nil, err
	}
	if err := c.Convert(in, out, nil); err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(to.WithKind(c.kind))
	return out, nil
}
