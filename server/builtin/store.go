package builtin

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// Store describes the storage of a resource. For built-in resources it is made from their [Resource].
type Store struct {
	// Group, Plural and Singular are its names in discovery and in messages.
	Group, Plural, Singular string
	ShortNames, Categories  []string

	New     func() runtime.Object
	NewList func() runtime.Object

	// Strategy holds the rules for create and update, and optionally for delete.
	Strategy rest.RESTCreateUpdateStrategy
	// Attrs (optional) extracts an object's labels and fields for selectors; nil means labels, name and namespace.
	Attrs store.AttrFunc
	// Table makes kubectl's columns.
	Table rest.TableConvertor
	// Declared names the variable that declares the resource, by package and name.
	Declared string
	// Hooks and ReturnDeletedObject are passed to the registry's Store.
	Hooks               registry.Hooks
	ReturnDeletedObject bool
}

// REST is the storage of a resource, with all verbs.
type REST struct {
	*registry.Store

	shortNames, categories []string
	declared               string
}

// Declaration names the variable that declares the resource: "…/builtin/core.ConfigMap".
func (r *REST) Declaration() string { return r.declared }

// ShortNames returns the abbreviations that kubectl accepts.
func (r *REST) ShortNames() []string { return r.shortNames }

// Categories returns the names of the sets that the resource belongs to, such as "all" in kubectl get all.
func (r *REST) Categories() []string { return r.categories }

// NewREST makes the resource's storage.
func (r Store) NewREST(optsGetter backend.RESTOptionsGetter) (*REST, error) {
	s := &registry.Store{
		NewFunc:                   r.New,
		NewListFunc:               r.NewList,
		DefaultQualifiedResource:  schema.GroupResource{Group: r.Group, Resource: r.Plural},
		SingularQualifiedResource: schema.GroupResource{Group: r.Group, Resource: r.Singular},
		CreateStrategy:            r.Strategy,
		UpdateStrategy:            r.Strategy,
		DeleteStrategy:            r.Strategy,
		TableConvertor:            r.Table,
		AttrFunc:                  r.Attrs,
		ReturnDeletedObject:       r.ReturnDeletedObject,
		Hooks:                     r.Hooks,
	}
	if err := s.CompleteWithOptions(&registry.StoreOptions{RESTOptions: optsGetter}); err != nil {
		return nil, fmt.Errorf("storage of %s: %w", s.DefaultQualifiedResource, err)
	}
	return &REST{Store: s, shortNames: r.ShortNames, categories: r.Categories, declared: r.Declared}, nil
}

// StatusREST is the storage of the subresource status, or of another that reads the whole object and updates a part.
type StatusREST struct {
	store *registry.Store
}

// subresource returns a view of the resource's storage that updates with another strategy. The resource's own update
// hooks do not run: they would see the object before the strategy restores the fields that the subresource may not
// change.
func (r *REST) subresource(strategy rest.RESTUpdateStrategy) *StatusREST {
	s := *r.Store
	s.UpdateStrategy = strategy
	s.BeginUpdate, s.AfterUpdate = nil, nil
	return newStatusREST(&s)
}

// newStatusREST returns a subresource that reads and updates through s.
func newStatusREST(s *registry.Store) *StatusREST { return &StatusREST{store: s} }

func (r *StatusREST) New() runtime.Object { return r.store.New() }

// Destroy does nothing: the resource owns the storage.
func (r *StatusREST) Destroy() {}

func (r *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.GetEncoded(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return object.Own(ctx, obj)
}

func (r *StatusREST) GetEncoded(ctx context.Context, name string, options *metav1.GetOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.StatusGet, name)
	defer step.End(&err)
	return r.store.GetEncoded(ctx, name, options)
}

// Update never creates: permission to change a part of an object is no permission to create one.
func (r *StatusREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (_ runtime.Object, _ bool, err error) {
	ctx, step := trace.Start(ctx, steps.StatusUpdate, name)
	defer step.End(&err)
	admit.ForceAllowCreate = false
	return r.store.Update(ctx, name, objInfo, admit, options)
}

func (r *StatusREST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}
