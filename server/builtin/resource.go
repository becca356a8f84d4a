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
	// Stored is the version of T, and Served are the versions of the API that have the resource: Stored alone if nil. They are
	// of one group, which may be another than that of Stored: two groups that declare a resource share its objects.
	Stored schema.GroupVersion
	Served []schema.GroupVersion
	// Alike are versions whose types have the same fields as T. Their objects are converted and defaulted as T's.
	Alike []schema.GroupVersion
	// ResetIn are further versions whose clients cannot own fields that the server ignores, in addition to Stored and Alike.
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

	// Sample is what people usually put into an object, as YAML: a screen's template begins with it. NAME and NAMESPACE stand
	// for the object's own. It is left out where the schema says enough, and {} where nothing but the metadata is wanted.
	Sample string

	// Special is the strategy of a resource that needs more than the fields above can say.
	Special func(Strategy[T]) rest.RESTCreateUpdateStrategy
	// Hooks run before and after a write, beside the strategy.
	Hooks registry.Hooks
	// ReturnDeletedObject makes DELETE answer with the object instead of a Status.
	ReturnDeletedObject bool
	// REST wraps the storage of a resource that does not have all verbs.
	REST func(*REST) rest.Storage
}

// Sub declares a subresource.
type Sub struct {
	Name string
	// Served are the versions that have it: all that have the resource if nil.
	Served []schema.GroupVersion
	New    func(*REST) rest.Storage
}

// Name is the resource's in paths.
func (r Resource[T]) Name() string { return r.Plural }

// StoredIn is the version in which objects are stored.
func (r Resource[T]) StoredIn() schema.GroupVersion { return r.Stored }

// Manifest is the sample with its kind and the version that clients prefer, empty if there is none.
func (r Resource[T]) Manifest() string {
	return manifest(r.served()[0].WithKind(kindOf[T]()), r.Sample)
}

// Versions are those that have the resource, each with the subresources it has there.
func (r Resource[T]) Versions() map[schema.GroupVersion][]string {
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

func (r Resource[T]) served() []schema.GroupVersion {
	if r.Served == nil {
		return []schema.GroupVersion{r.Stored}
	}
	return r.Served
}

// resetIn are the versions in which clients cannot own what is ignored, beside that of T.
func (r Resource[T]) resetIn() []schema.GroupVersion { return slices.Concat(r.Alike, r.ResetIn) }

func (r Resource[T]) subresources() []Sub {
	if r.Status == nil {
		return r.Sub
	}
	part := r.Status.Part
	part.resetIn = r.resetIn()
	status := Sub{Name: "status", New: func(main *REST) rest.Storage { return NewPart(main, "status", r.Stored, part) }}
	return append([]Sub{status}, r.Sub...)
}

// AddToScheme registers defaults, conversions of the versions that are alike, and field labels.
func (r Resource[T]) AddToScheme(s *runtime.Scheme) error {
	if r.Default != nil {
		r.addDefaults(s, newOf[T]()(), r.List)
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
		if err := r.addFieldLabels(s, version.WithKind(kindOf[T]())); err != nil {
			return err
		}
	}
	return nil
}

// addVersion registers the objects and lists of a version that is alike.
func (r Resource[T]) addVersion(s *runtime.Scheme, version schema.GroupVersion) error {
	kind, list := kindOf[T](), reflect.TypeOf(r.List).Elem().Name()
	for _, k := range []string{kind, list} {
		if err := AddAlike(s, version.WithKind(k), r.Stored.WithKind(k)); err != nil {
			return err
		}
	}
	if r.Default == nil {
		return nil
	}
	obj, err := s.New(version.WithKind(kind))
	if err != nil {
		return err
	}
	objs, err := s.New(version.WithKind(list))
	if err != nil {
		return err
	}
	r.addDefaults(s, obj, objs)
	return nil
}

// addDefaults registers the defaults of objects and lists of T, or of a type that is alike.
func (r Resource[T]) addDefaults(s *runtime.Scheme, obj, list runtime.Object) {
	t := reflect.TypeFor[T]().Elem()
	setDefaults := func(obj any) { r.Default(viewAs(obj, t).Interface().(T)) }
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
func (r Resource[T]) Strategy() rest.RESTCreateUpdateStrategy {
	s := Strategy[T]{NameGenerator: rest.SimpleNameGenerator, resource: &r, name: path.Base(r.place())}
	if r.Special != nil {
		return r.Special(s)
	}
	return s
}

// StatusStrategy says how the subresource status updates objects.
func (r Resource[T]) StatusStrategy() rest.RESTUpdateStrategy {
	return NewStatusStrategy(r.Strategy(), "status", r.Stored, r.Status.Part)
}

// Table makes kubectl's columns.
func (r Resource[T]) Table() rest.TableConvertor {
	if r.RowInList != nil {
		return table.NewInList(r.Columns, r.RowInList)
	}
	if r.Row == nil {
		return rest.NewDefaultTableConvertor(r.served()[0].WithResource(r.Plural).GroupResource())
	}
	return table.New(r.Columns, r.Row)
}

// Attrs is what selectors see of an object.
func (r Resource[T]) Attrs() store.AttrFunc {
	if r.Fields == nil {
		return nil
	}
	return attrsOf(r.Fields)
}

// NewStorages makes the storages of the resource, "", and of its subresources.
func (r Resource[T]) NewStorages(getter backend.RESTOptionsGetter) (map[string]rest.Storage, error) {
	main, err := r.NewREST(getter)
	if err != nil {
		return nil, err
	}
	storages := map[string]rest.Storage{"": main}
	if r.REST != nil {
		storages[""] = r.REST(main)
	}
	for _, sub := range r.subresources() {
		storages[sub.Name] = sub.New(main)
	}
	return storages, nil
}

// NewREST makes the storage of the resource itself.
func (r Resource[T]) NewREST(getter backend.RESTOptionsGetter) (*REST, error) {
	newList := reflect.TypeOf(r.List).Elem()
	return Store{
		Group:      r.served()[0].Group,
		Plural:     r.Plural,
		Singular:   r.Singular,
		ShortNames: r.Short,
		Categories: r.Categories,
		New:        newOf[T](),
		NewList:    func() runtime.Object { return reflect.New(newList).Interface().(runtime.Object) },
		Strategy:   r.Strategy(),
		Attrs:      r.Attrs(),
		Table:      r.Table(),
		Declared:   r.place(),
		Hooks:      r.Hooks,

		ReturnDeletedObject: r.ReturnDeletedObject,
	}.NewREST(getter)
}

// newOf makes empty objects.
func newOf[T runtime.Object]() func() runtime.Object {
	t := reflect.TypeFor[T]().Elem()
	return func() runtime.Object { return reflect.New(t).Interface().(runtime.Object) }
}

// kindOf is the kind of objects of type T: Kubernetes calls types as their kinds.
func kindOf[T runtime.Object]() string { return reflect.TypeFor[T]().Elem().Name() }
