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
	"github.com/kx-apiserver/kx/server/builtin/table"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// Object is an object that a resource stores.
type Object interface {
	runtime.Object
	metav1.Object
}

// Names are what a resource is called in paths, in messages and at the prompt.
type Names struct {
	Plural, Singular  string
	Short, Categories []string
}

// Resource declares a resource whose objects are stored. T points to their type in the version that is stored. A field
// that is left out adds nothing to what all resources do.
type Resource[T Object] struct {
	Names
	// List is an empty list of T.
	List runtime.Object
	// Stored is the version of T, and Served are the versions of the API that have the resource: Stored alone if nil.
	// They are of one group, which may be another than that of Stored: two groups that declare a resource share its
	// objects.
	Stored schema.GroupVersion
	Served []schema.GroupVersion
	// Alike are versions whose types have the same fields as T. Their objects are converted and defaulted as T's.
	Alike []schema.GroupVersion
	// ResetIn are further versions whose clients cannot own fields that the server ignores, in addition to Stored and
	// Alike.
	ResetIn []schema.GroupVersion
	// ClusterScoped objects are in no namespace.
	ClusterScoped bool

	// Default fills in what a client has left out.
	Default func(T)
	// Fields are what field selectors may name, beside the name and the namespace.
	Fields []Field[T]
	// FieldError (optional) is what a selector on a kind is told that names another field.
	FieldError func(kind schema.GroupVersionKind, label string) error
	// NoNamespaceField objects have a namespace that selectors may not name.
	NoNamespaceField bool

	// PrepareCreate and PrepareUpdate put a new object in order. Status and generation are in order already.
	PrepareCreate func(context.Context, T)
	PrepareUpdate func(obj, old T)
	// Canonicalize runs last, when even a generated name is known.
	Canonicalize   func(T)
	Validate       func(T) field.ErrorList
	ValidateUpdate func(obj, old T) field.ErrorList
	// Undeclared is true of types that declare no rules: their errors are told as often as they are found.
	Undeclared bool
	// Warnings are for the client that wrote obj. There is no old one of a new object.
	Warnings func(obj, old T) []string
	// CreateOnUpdate lets PUT create what is not there.
	CreateOnUpdate bool
	// ConditionalUpdate requires a resourceVersion in a PUT.
	ConditionalUpdate bool
	// Dependents says what becomes of an object's dependents if the client does not say.
	Dependents func(context.Context) rest.GarbageCollectionPolicy

	// Spec is what moves metadata.generation when it changes. Resources without one have no generation.
	Spec func(T) any
	// Status declares the subresource status, to which the status of an object then belongs.
	Status *Status[T]
	// Sub are further subresources.
	Sub []Sub

	// Columns are kubectl's, and Row has their cells. Without them there are the name and the time of creation.
	Columns []table.Column
	Row     func(T) metav1.TableRow
	// RowInList is there instead of Row if cells depend on the other items of a list, which is nil for an object alone.
	RowInList func(list runtime.Object) func(T) metav1.TableRow

	// Sample is what people usually put into an object, as YAML: a screen's template begins with it. NAME and NAMESPACE
	// stand for the object's own. It is left out where the schema says enough, and {} where nothing but the metadata is
	// wanted.
	Sample string

	// Special is a [Specialize]: the strategy of a resource that needs more than the fields above can say.
	Special Specializer
	// Hooks run before and after a write, beside the strategy.
	Hooks registry.Hooks
	// ReturnDeletedObject makes DELETE answer with the object instead of a Status.
	ReturnDeletedObject bool
	// REST is a [Make] that wraps the storage of a resource that does not have all verbs.
	REST Maker
}

// Sub declares a subresource.
type Sub struct {
	Name string
	// Served are the versions that have it: all that have the resource if nil.
	Served []schema.GroupVersion
	// New is a [Make] of its storage, from that of the resource.
	New Maker
}

// Make makes a storage from that of a resource.
type Make func(*REST) rest.Storage

// Specialize makes a strategy from what a resource declares.
type Specialize func(Strategy) rest.RESTCreateUpdateStrategy

// Maker is a Make, and Specializer is a Specialize. The compiler reads every type that the fields of a Resource lead
// to. REST and Strategy lead to a thousand, down to the client of etcd. The interfaces hide them from packages that
// have no such function.
type (
	Maker       interface{ makes() }
	Specializer interface{ specializes() }
)

func (Make) makes()             {}
func (Specialize) specializes() {}

// Name is the resource's in paths.
func (r *AnyResource) Name() string { return r.Plural }

// StoredIn is the version in which objects are stored.
func (r *AnyResource) StoredIn() schema.GroupVersion { return r.Stored }

// Manifest is the sample with its kind and the version that clients prefer, empty if there is none.
func (r *AnyResource) Manifest() string {
	return manifest(r.served()[0].WithKind(r.kind), r.Sample)
}

// Versions are those that have the resource, each with the subresources it has there.
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

// resetIn are the versions in which clients cannot own what is ignored, beside that of T.
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

// AddToScheme registers defaults, conversions of the versions that are alike, and field labels.
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

// addVersion registers the objects and lists of a version that is alike.
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

// addDefaults registers the defaults of objects and lists of the resource's type, or of one that is alike.
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

// Strategy says how objects are created, updated and deleted.
func (r *AnyResource) Strategy() rest.RESTCreateUpdateStrategy {
	s := Strategy{NameGenerator: rest.SimpleNameGenerator, resource: r, name: path.Base(r.declared)}
	if r.Special != nil {
		return r.Special.(Specialize)(s)
	}
	return s
}

// StatusStrategy says how the subresource status updates objects.
func (r *AnyResource) StatusStrategy() rest.RESTUpdateStrategy {
	return newStatusStrategy(r.Strategy(), "status", r.Stored, r.Status.Part)
}

// Table makes kubectl's columns.
func (r *AnyResource) Table() rest.TableConvertor {
	if r.table == nil {
		return rest.NewDefaultTableConvertor(r.served()[0].WithResource(r.Plural).GroupResource())
	}
	return r.table
}

// Attrs is what selectors see of an object.
func (r *AnyResource) Attrs() store.AttrFunc { return r.attrs }

// NewStorages makes the storages of the resource, "", and of its subresources.
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

// newOf makes empty objects, whose Go type is a pointer.
func newOf(pointer reflect.Type) func() runtime.Object {
	t := pointer.Elem()
	return func() runtime.Object { return reflect.New(t).Interface().(runtime.Object) }
}
