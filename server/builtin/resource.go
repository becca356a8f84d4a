package builtin

import (
	"context"
	"path"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// Object is a stored object: it has a kind and metadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// Names holds a resource's names in paths, in messages and on kubectl's command line.
type Names struct {
	Plural, Singular  string
	Short, Categories []string
}

// Resource declares a resource whose objects are stored. T is a pointer to their Go type in the storage version. A
// field that is left out adds nothing to the behaviour that all resources share.
type Resource[T Object] struct {
	Names
	// List is an empty list of T.
	List runtime.Object
	// Stored is the version of T. Served lists the versions of the API that have the resource; nil means Stored
	// alone. Served versions belong to one group, which can differ from Stored's: two groups that declare a resource
	// share its objects.
	Stored schema.GroupVersion
	Served []schema.GroupVersion
	// Alike lists versions whose types have the same fields as T. Their objects are converted by a copy of the
	// struct, and defaulted like T's.
	Alike []schema.GroupVersion
	// ResetIn lists versions, besides Stored and Alike, whose clients cannot own fields that the server ignores.
	ResetIn []schema.GroupVersion
	// ClusterScoped objects have no namespace.
	ClusterScoped bool

	// Default fills in the fields that a client leaves out.
	Default func(T)
	// Fields lists the fields that field selectors may name, besides the name and the namespace.
	Fields []Field[T]
	// FieldError (optional) makes the error for a selector that names any other field.
	FieldError func(kind schema.GroupVersionKind, label string) error
	// NoNamespaceField keeps selectors from naming the namespace.
	NoNamespaceField bool

	// PrepareCreate and PrepareUpdate set the fields that the server owns. Status and generation are set already.
	PrepareCreate func(context.Context, T)
	PrepareUpdate func(obj, old T)
	// Canonicalize runs last, after a generated name is set.
	Canonicalize   func(T)
	Validate       func(T) field.ErrorList
	ValidateUpdate func(obj, old T) field.ErrorList
	// Undeclared marks types that declare no validation rules: their errors are not deduplicated.
	Undeclared bool
	// Warnings returns warnings for the client that wrote obj. old is nil for a new object.
	Warnings func(obj, old T) []string
	// CreateOnUpdate lets PUT create a missing object.
	CreateOnUpdate bool
	// ConditionalUpdate requires a resourceVersion in a PUT.
	ConditionalUpdate bool
	// Dependents returns the deletion policy for an object's dependents if the client gives none.
	Dependents func(context.Context) rest.GarbageCollectionPolicy

	// Spec returns the part of an object whose changes metadata.generation counts. Resources without a Spec have no
	// generation.
	Spec func(T) any
	// Status declares the subresource status. Writes of the object itself then leave its status alone.
	Status *Status[T]
	// Sub lists further subresources.
	Sub []Sub

	// Columns lists the columns of kubectl get, and Row makes their cells. Without them kubectl shows the name and
	// the time of creation.
	Columns []Column
	Row     func(T) metav1.TableRow
	// RowInList replaces Row if cells depend on the other items of a list. list is nil for a single object.
	RowInList func(list runtime.Object) func(T) metav1.TableRow

	// Sample is a typical object as YAML, without apiVersion and kind: the screen's template for a new object begins
	// with it. NAME and NAMESPACE are placeholders. It is left out where the schema suffices, and {} where an object
	// needs only its metadata.
	Sample string

	// Special is a [Specialize]: it makes the strategy of a resource that needs more than the fields above can
	// declare.
	Special Specializer
	// Hooks run before and after a write, beside the strategy.
	Hooks registry.Hooks
	// ReturnDeletedObject makes DELETE answer with the object instead of a Status.
	ReturnDeletedObject bool
	// REST is a [Make] that wraps the storage, for a resource that lacks some verbs.
	REST Maker
}

// Sub declares a subresource.
type Sub struct {
	Name string
	// Served lists the versions that have the subresource; nil means every version of the resource.
	Served []schema.GroupVersion
	// New is a [Make] for the subresource's storage.
	New Maker
}

// Make makes a storage from the storage of a resource.
type Make func(*REST) rest.Storage

// Specialize wraps or replaces the strategy that is made from a resource's declaration.
type Specialize func(Strategy) rest.RESTCreateUpdateStrategy

// Maker is a Make, and Specializer is a Specialize. The compiler loads every type that is reachable from the fields
// of a Resource. From REST and Strategy a thousand are reachable, down to the client of etcd. The interfaces hide
// them from packages that have no such function.
type (
	Maker       interface{ makes() }
	Specializer interface{ specializes() }
)

func (Make) makes()             {}
func (Specialize) specializes() {}

// Name returns the resource's name in paths.
func (r *AnyResource) Name() string { return r.Plural }

// StoredIn returns the version in which objects are stored.
func (r *AnyResource) StoredIn() schema.GroupVersion { return r.Stored }

// Manifest returns the sample with its kind and the preferred version, or "" without a sample.
func (r *AnyResource) Manifest() string {
	return manifest(r.served()[0].WithKind(r.kind), r.Sample)
}

// Versions lists the versions that serve the resource, each with its subresources there.
func (r *AnyResource) Versions() map[schema.GroupVersion][]string {
	served := r.served()
	versions := map[schema.GroupVersion][]string{}
	for _, version := range served {
		versions[version] = nil
	}
	for _, sub := range r.subresources() {
		in := sub.Served
		if in == nil {
			in = served
		}
		for _, version := range in {
			versions[version] = append(versions[version], sub.Name)
		}
	}
	return versions
}

func (r *AnyResource) served() []schema.GroupVersion {
	if r.Served == nil {
		return []schema.GroupVersion{r.Stored}
	}
	return r.Served
}

// resetIn lists the versions, besides T's, in which clients cannot own ignored fields.
func (r *AnyResource) resetIn() []schema.GroupVersion { return slices.Concat(r.Alike, r.ResetIn) }

func (r *AnyResource) subresources() []Sub {
	if r.Status == nil {
		return r.Sub
	}
	part := r.Status.Part
	part.resetIn = r.resetIn()
	status := Sub{Name: "status", New: Make(func(main *REST) rest.Storage { return main.newPart("status", r.Stored, part) })}
	return append([]Sub{status}, r.Sub...)
}

// AddToScheme registers defaults, conversions of the versions in Alike, and field labels.
func (r *AnyResource) AddToScheme(s *runtime.Scheme) error {
	if r.Default != nil {
		r.addDefaults(s, newOf(r.pointer)(), r.List)
	}
	for _, version := range r.Alike {
		if err := r.addVersion(s, version); err != nil {
			return err
		}
	}
	if r.Fields == nil {
		return nil
	}
	for _, version := range r.served() {
		if err := r.addFieldLabels(s, version.WithKind(r.kind)); err != nil {
			return err
		}
	}
	return nil
}

// addVersion registers conversions and defaults of objects and lists of a version in Alike.
func (r *AnyResource) addVersion(s *runtime.Scheme, version schema.GroupVersion) error {
	for _, k := range []string{r.kind, reflect.TypeOf(r.List).Elem().Name()} {
		if err := AddAlike(s, version.WithKind(k), r.Stored.WithKind(k)); err != nil {
			return err
		}
	}
	if r.Default == nil {
		return nil
	}
	obj, err := s.New(version.WithKind(r.kind))
	if err != nil {
		return err
	}
	list, err := s.New(version.WithKind(reflect.TypeOf(r.List).Elem().Name()))
	if err != nil {
		return err
	}
	r.addDefaults(s, obj, list)
	return nil
}

// addDefaults registers the defaults of objects and lists of T, or of a type with the same fields.
func (r *AnyResource) addDefaults(s *runtime.Scheme, obj, list runtime.Object) {
	t := r.pointer.Elem()
	setDefaults := func(obj any) { r.Default(viewAs(obj, t).Interface().(Object)) }
	s.AddTypeDefaultingFunc(obj, setDefaults)
	s.AddTypeDefaultingFunc(list, func(list any) {
		// Only a list of something else could fail here.
		_ = meta.EachListItem(list.(runtime.Object), func(obj runtime.Object) error {
			setDefaults(obj)
			return nil
		})
	})
}

// Strategy returns the strategy for create, update and delete.
func (r *AnyResource) Strategy() rest.RESTCreateUpdateStrategy {
	s := Strategy{NameGenerator: rest.SimpleNameGenerator, resource: r, name: path.Base(r.declared)}
	if r.Special != nil {
		return r.Special.(Specialize)(s)
	}
	return s
}

// StatusStrategy returns the strategy of the subresource status.
func (r *AnyResource) StatusStrategy() rest.RESTUpdateStrategy {
	return newStatusStrategy(r.Strategy(), "status", r.Stored, r.Status.Part)
}

// Table returns the convertor for kubectl's tables.
func (r *AnyResource) Table() rest.TableConvertor {
	if r.table == nil {
		return rest.NewDefaultTableConvertor(r.served()[0].WithResource(r.Plural).GroupResource())
	}
	return r.table
}

// Attrs returns the function that extracts an object's labels and fields for selectors.
func (r *AnyResource) Attrs() store.AttrFunc { return r.attrs }

// NewStorages makes the storages of the resource, under the key "", and of its subresources.
func (r *AnyResource) NewStorages(getter backend.RESTOptionsGetter) (map[string]rest.Storage, error) {
	main, err := r.NewREST(getter)
	if err != nil {
		return nil, err
	}
	storages := map[string]rest.Storage{"": main}
	if r.REST != nil {
		storages[""] = r.REST.(Make)(main)
	}
	for _, sub := range r.subresources() {
		storages[sub.Name] = sub.New.(Make)(main)
	}
	return storages, nil
}

// NewREST makes the storage of the resource itself.
func (r *AnyResource) NewREST(getter backend.RESTOptionsGetter) (*REST, error) {
	return Store{
		Group:      r.served()[0].Group,
		Plural:     r.Plural,
		Singular:   r.Singular,
		ShortNames: r.Short,
		Categories: r.Categories,
		New:        newOf(r.pointer),
		NewList:    newOf(reflect.TypeOf(r.List)),
		Strategy:   r.Strategy(),
		Attrs:      r.Attrs(),
		Table:      r.Table(),
		Declared:   r.declared,
		Hooks:      r.Hooks,

		ReturnDeletedObject: r.ReturnDeletedObject,
	}.NewREST(getter)
}

// newOf returns a function that makes empty objects. pointer is their Go type, a pointer.
func newOf(pointer reflect.Type) func() runtime.Object {
	t := pointer.Elem()
	return func() runtime.Object { return reflect.New(t).Interface().(runtime.Object) }
}
