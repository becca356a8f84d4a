package crd

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/handler"
)

// fieldManagers makes the field managers of a definition. They share one type converter, for a manager of one version may
// own fields of an object that was written in another.
type fieldManagers struct {
	resource  *customresource.Resource
	converter func() (managedfields.TypeConverter, error)
}

func newFieldManagers(crd *lister.Definition, resource *customresource.Resource) *fieldManagers {
	return &fieldManagers{resource: resource, converter: sync.OnceValues(func() (managedfields.TypeConverter, error) {
		return newTypeConverter(crd, resource)
	})}
}

// of makes the field manager of a scope, which is of the version v or of one of its subresources.
func (m *fieldManagers) of(scope *handler.RequestScope, v *customresource.Version) (*managedfields.FieldManager, error) {
	converter, err := m.converter()
	if err != nil {
		return nil, err
	}
	return managedfields.NewDefaultCRDFieldManager(converter, scope.Convertor, scope.Defaulter, scope.Creater,
		scope.Kind, scope.HubGroupVersion, scope.Subresource, fieldpath.NewExcludeFilterSetMap(m.resetFields(scope, v)))
}

// resetFields are those that writes through a scope don't change, by version: for the status those of all versions, since
// owners of fields may have written in any.
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
