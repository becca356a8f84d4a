package crd

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/crd/openapi"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/handler/fieldorder"
)

// fieldManagers creates the field managers of a definition. They share one type converter, since the owners of
// an object's fields may have written in different versions.
type fieldManagers struct {
	resource  *customresource.Resource
	converter managedfields.TypeConverter
}

func newFieldManagers(crd *lister.Definition, resource *customresource.Resource) *fieldManagers {
	return &fieldManagers{resource: resource, converter: fieldorder.NewConverter(openapi.NewTypeConverter(crd))}
}

// manager returns the field manager of a scope, which belongs to the version v or to one of its subresources.
func (m *fieldManagers) manager(scope *handler.RequestScope, v *customresource.Version) handler.FieldManager {
	with := func(convertor runtime.ObjectConvertor) func() (*managedfields.FieldManager, error) {
		return sync.OnceValues(func() (*managedfields.FieldManager, error) {
			return managedfields.NewDefaultCRDFieldManager(m.converter, convertor, scope.Defaulter, scope.Creater,
				scope.Kind, scope.HubGroupVersion, scope.Subresource, fieldpath.NewExcludeFilterSetMap(m.resetFields(scope, v)))
		})
	}
	return &lazyFieldManager{update: with(readConvertor{scope.Convertor}), apply: with(scope.Convertor)}
}

// readConvertor returns an object that has the wanted version already, not a copy of it. It is for callers that only
// read the result. An update of the owners only reads it; an apply makes the next state of it.
type readConvertor struct{ runtime.ObjectConvertor }

func (c readConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	if managed, ok := in.(*object.Managed); ok {
		in = managed.Unstructured
	}
	kind := in.GetObjectKind().GroupVersionKind()
	if to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{kind}); ok && to == kind {
		return in, nil
	}
	return c.ObjectConvertor.ConvertToVersion(in, target)
}

// lazyFieldManager creates its field managers at the first write. Of many definitions only few are ever written
// to, and the types that the managers share are the largest part of a crdInfo.
type lazyFieldManager struct {
	update, apply func() (*managedfields.FieldManager, error)
}

func (l *lazyFieldManager) Update(live, obj runtime.Object, manager string) (runtime.Object, error) {
	m, err := l.update()
	if err != nil {
		return nil, fmt.Errorf("make the field manager: %w", err)
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return m.Update(live, obj, manager)
	}
	if _, err := m.Update(live, object.NewManaged(u), manager); err != nil {
		return nil, err
	}
	return u, nil
}

func (l *lazyFieldManager) Apply(live, applied runtime.Object, manager string, force bool) (runtime.Object, error) {
	m, err := l.apply()
	if err != nil {
		return nil, fmt.Errorf("make the field manager: %w", err)
	}
	return m.Apply(live, applied, manager, force)
}

// resetFields returns the fields that writes through a scope can't change, by version. For the status these are
// the fields of all versions, since owners may have written in any.
func (m *fieldManagers) resetFields(scope *handler.RequestScope, v *customresource.Version) map[fieldpath.APIVersion]*fieldpath.Set {
	var storages []rest.ResetFieldsStrategy
	switch scope.Subresource {
	case "":
		storages = append(storages, v.Storage.CustomResource)
	case "status":
		for _, version := range m.resource.Versions {
			if status := version.Storage.Status; status != nil {
				storages = append(storages, status)
			}
		}
	}
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, storage := range storages {
		for version, fields := range storage.GetResetFields() {
			reset[version] = fields
		}
	}
	return reset
}
