package customresource

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// CustomResourceStorage has the storages of one version. Status and Scale are nil if it has no such subresource.
type CustomResourceStorage struct {
	CustomResource *REST
	Status         *StatusREST
	Scale          *ScaleREST
}

// REST serves the objects of one version.
type REST struct {
	*registry.Store
	categories, shortNames []string
	reset                  rest.ResetFieldsStrategy
}

var (
	_ rest.StandardStorage     = &REST{}
	_ rest.CategoriesProvider  = &REST{}
	_ rest.ShortNamesProvider  = &REST{}
	_ rest.ResetFieldsStrategy = &REST{}
)

// Categories are the groups of resources that the resource is part of, such as "all".
func (r *REST) Categories() []string { return r.categories }

// ShortNames are what people type instead of the resource's name.
func (r *REST) ShortNames() []string { return r.shortNames }

func (r *REST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.reset.GetResetFields()
}

// GetEncoded is the Store's. So are the other verbs, which have no method here.
func (r *REST) GetEncoded(ctx context.Context, name string, options *metav1.GetOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, trace.CustomGet, name)
	defer step.End(&err)
	return r.Store.GetEncoded(ctx, name, options)
}

// StatusREST serves the status subresource of one version.
type StatusREST struct {
	store *registry.Store
	reset rest.ResetFieldsStrategy
}

var (
	_ rest.Patcher             = &StatusREST{}
	_ rest.ResetFieldsStrategy = &StatusREST{}
	_ rest.TableConvertor      = &StatusREST{}
)

func (r *StatusREST) New() runtime.Object { return r.store.New() }

// Destroy does nothing: the storage is its resource's.
func (*StatusREST) Destroy() {}

func (r *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.GetEncoded(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return object.Own(ctx, obj)
}

func (r *StatusREST) GetEncoded(ctx context.Context, name string, options *metav1.GetOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, trace.CustomStatusGet, name)
	defer step.End(&err)
	return r.store.GetEncoded(ctx, name, options)
}

// Update never creates: who may change a status may not make an object.
func (r *StatusREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (_ runtime.Object, _ bool, err error) {
	ctx, step := trace.Start(ctx, trace.CustomStatusUpdate, name)
	defer step.End(&err)
	return r.store.Update(ctx, name, objInfo, createValidation, updateValidation, false, options)
}

func (r *StatusREST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}

func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.reset.GetResetFields()
}

// makeStorages makes the one storage, and the storages of all versions on it.
func (r *Resource) makeStorages(c Config) error {
	// If other versions are stored, views convert them, a list at once. Otherwise the codec converts what it meets.
	stored := r.definition.Status.StoredVersions
	mixed := slices.ContainsFunc(stored, func(version string) bool { return version != r.StorageVersion })

	gv := apischema.GroupVersion{Group: r.resource.Group, Version: r.StorageVersion}
	codec := &codec{defaulter: defaulter{r.schemas, r.groupKind()}, version: gv}
	if !mixed {
		codec.converter = r.converter
	}
	storageVersion := r.Versions[r.StorageVersion]
	storageStrategy := r.newStrategy(r.StorageVersion)
	r.store = r.newStore(storageVersion, storageStrategy)
	if err := r.store.CompleteWithOptions(&registry.StoreOptions{
		RESTOptions: ownCodec{c.Options, codec},
	}); err != nil {
		return err
	}
	r.store.Made()[0].Below(c.Note)
	for name, version := range r.Versions {
		store, strategy := r.store, storageStrategy
		if mixed || name != r.StorageVersion {
			strategy = r.newStrategy(name)
			store = r.newStore(version, strategy)
			view, err := r.newView(version, storageStrategy)
			if err != nil {
				return err
			}
			store.CompleteFrom(r.store, registry.DryRunnableStorage{
				Storage: view,
				Codec:   &viewCodec{codec: codec, converter: r.converter, version: version.Kind.GroupVersion()},
			})
		}
		version.Storage = r.storagesOf(store, strategy)
	}
	return nil
}

// ownCodec returns another getter's options with the codec of this package: the other one has none for custom
// resources.
type ownCodec struct {
	backend.RESTOptionsGetter
	codec *codec
}

func (o ownCodec) GetRESTOptions(resource apischema.GroupResource, example runtime.Object) (backend.RESTOptions, error) {
	options, err := o.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return options, err
	}
	config := *options.StorageConfig
	config.Codec, config.EncodeVersioner = o.codec, o.codec.version
	options.StorageConfig = &config
	return options, nil
}

func (r *Resource) newStrategy(version string) *strategy {
	s := &strategy{
		NameGenerator: rest.SimpleNameGenerator,
		kind:          r.Versions[version].Kind,
		namespaced:    r.namespaced(),
		schema:        r.schemas[version],
	}
	definition := r.definitionOf(version)
	s.selectable = newSelectableFields(definition.SelectableFields)
	if definition.Subresources != nil {
		s.hasStatus = definition.Subresources.Status != nil
		s.scale = definition.Subresources.Scale
	}
	return s
}

func (r *Resource) definitionOf(version string) *apiextensionsv1.CustomResourceDefinitionVersion {
	i := slices.IndexFunc(r.definition.Spec.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	return &r.definition.Spec.Versions[i]
}

// newStore is a store without storage.
func (r *Resource) newStore(version *Version, s *strategy) *registry.Store {
	return &registry.Store{
		NewFunc: func() runtime.Object {
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(version.Kind)
			return obj
		},
		NewListFunc: func() runtime.Object {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(version.ListKind)
			return list
		},
		AttrFunc:                  s.GetAttrs,
		DefaultQualifiedResource:  r.resource,
		SingularQualifiedResource: apischema.GroupResource{Group: r.resource.Group, Resource: r.definition.Status.AcceptedNames.Singular},
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		TableConvertor:            version.columns,
	}
}

// storagesOf are the storages of a version, whose store is store.
func (r *Resource) storagesOf(store *registry.Store, s *strategy) CustomResourceStorage {
	names := &r.definition.Status.AcceptedNames
	storage := CustomResourceStorage{CustomResource: &REST{
		Store: store, categories: names.Categories, shortNames: names.ShortNames, reset: s,
	}}
	if s.hasStatus {
		statusStore := *store
		statusStore.UpdateStrategy = statusStrategy{s}
		storage.Status = &StatusREST{store: &statusStore, reset: statusStrategy{s}}
	}
	if s.scale != nil {
		storage.Scale = newScaleREST(store, s, r.definition)
	}
	return storage
}
