package crd

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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

// of returns the field manager of a scope, which belongs to the version v or to one of its subresources.
func (m *fieldManagers) of(scope *handler.RequestScope, v *customresource.Version) handler.FieldManager {
	return lazyFieldManager(sync.OnceValues(func() (*managedfields.FieldManager, error) {
		return managedfields.NewDefaultCRDFieldManager(m.converter, scope.Convertor, scope.Defaulter, scope.Creater,
			scope.Kind, scope.HubGroupVersion, scope.Subresource, fieldpath.NewExcludeFilterSetMap(m.resetFields(scope, v)))
	}))
}

// lazyFieldManager creates its field manager at the first write. Of many definitions only few are ever written
// to, and the field manager is the largest part of a crdInfo.
type lazyFieldManager func() (*managedfields.FieldManager, error)

func (get lazyFieldManager) Update(live, obj runtime.Object, manager string) (runtime.Object, error) {
	m, err := get()
	if err != nil {
		return nil, fmt.Errorf("make the field manager: %w", err)
	}
	return m.Update(live, obj, manager)
}

func (get lazyFieldManager) Apply(live, applied runtime.Object, manager string, force bool) (runtime.Object, error) {
	m, err := get()
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
