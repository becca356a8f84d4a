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
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// CustomResourceStorage holds the storages of one version. Status and Scale are nil if it has no such
// subresource.
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

// Categories lists the groups of resources that include this one, such as "all".
func (r *REST) Categories() []string { return r.categories }

// ShortNames lists the abbreviations of the resource's name.
func (r *REST) ShortNames() []string { return r.shortNames }

func (r *REST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.reset.GetResetFields()
}

// GetEncoded calls the Store within a step. The Store serves the other verbs directly.
func (r *REST) GetEncoded(ctx context.Context, name string, options *metav1.GetOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.CustomGet, name)
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

// Destroy does nothing: the storage belongs to the resource.
func (*StatusREST) Destroy() {}

func (r *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.GetEncoded(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return object.Own(ctx, obj)
}

func (r *StatusREST) GetEncoded(ctx context.Context, name string, options *metav1.GetOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.CustomStatusGet, name)
	defer step.End(&err)
	return r.store.GetEncoded(ctx, name, options)
}

// Update never creates: the permission to change a status does not include creating objects.
func (r *StatusREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (_ runtime.Object, _ bool, err error) {
	ctx, step := trace.Start(ctx, steps.CustomStatusUpdate, name)
	defer step.End(&err)
	admit.ForceAllowCreate = false
	return r.store.Update(ctx, name, objInfo, admit, options)
}

func (r *StatusREST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}

func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.reset.GetResetFields()
}

// makeStorages creates the one storage, and the storages of all versions on it.
func (r *Resource) makeStorages(c Config) error {
	// If other versions are stored, views convert them, a list at once. Otherwise the codec converts the rare
	// exceptions.
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
	r.store.CreationNotes()[0].SetCaller(c.Note)
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

// ownCodec replaces the codec in storage options with that of this package: the original has none for custom
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

// newStore returns a store without storage.
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

// storagesOf returns the storages of a version on its store.
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
