package definition

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

var (
	resource = apiextensions.Resource("customresourcedefinitions")
	singular = apiextensions.Resource("customresourcedefinition")
)

// REST is the storage of definitions.
type REST struct {
	*builtin.REST
}

// StatusREST is the storage of their status subresource.
type StatusREST struct {
	store *registry.Store
}

var (
	_ rest.StandardStorage     = &REST{}
	_ rest.ShortNamesProvider  = &REST{}
	_ rest.CategoriesProvider  = &REST{}
	_ rest.ResetFieldsStrategy = &REST{}
	_ rest.Patcher             = &StatusREST{}
	_ rest.ResetFieldsStrategy = &StatusREST{}
)

// NewREST creates the storages of customresourcedefinitions and customresourcedefinitions/status.
func NewREST(optsGetter backend.RESTOptionsGetter) (*REST, *StatusREST, error) {
	r, err := builtin.Store{
		Group:      resource.Group,
		Plural:     resource.Resource,
		Singular:   singular.Resource,
		ShortNames: []string{"crd", "crds"},
		Categories: []string{"api-extensions"},
		New:        func() runtime.Object { return &apiextensions.CustomResourceDefinition{} },
		NewList:    func() runtime.Object { return &apiextensions.CustomResourceDefinitionList{} },
		Strategy:   Strategy,
		Table:      table,
	}.NewREST(ownCodec{optsGetter})
	if err != nil {
		return nil, nil, err
	}
	store := *r.Store
	store.UpdateStrategy = StatusStrategy
	return &REST{r}, &StatusREST{store: &store}, nil
}

// NewAPIGroupInfo returns the group with these storages in v1.
func NewAPIGroupInfo(crds *REST, status *StatusREST) endpoint.APIGroupInfo {
	group := endpoint.NewDefaultAPIGroupInfo(apiextensions.GroupName, Scheme)
	group.VersionedResourcesStorageMap[apiextensionsv1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		resource.Resource:             crds,
		resource.Resource + "/status": status,
	}
	return group
}

func (r *REST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return Strategy.GetResetFields()
}

func (r *StatusREST) New() runtime.Object { return r.store.New() }

// Destroy does nothing: the storage belongs to REST.
func (r *StatusREST) Destroy() {}

// Get reads the whole definition.
func (r *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

func (r *StatusREST) GetEncoded(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.GetEncoded(ctx, name, options)
}

// Update changes everything but the spec, and never creates.
func (r *StatusREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	admit.ForceAllowCreate = false
	return r.store.Update(ctx, name, objInfo, admit, options)
}

func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return StatusStrategy.GetResetFields()
}
