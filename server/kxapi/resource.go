package kxapi

import (
	"context"
	"fmt"
	"net/url"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// groupObject is a pointer to one of the group's types.
type groupObject interface {
	runtime.Object
	metav1.Object
}

// resource declares a resource of the group, or a subresource. etcd holds nothing of it: the functions return the
// current state of the server. A verb whose function is nil does not exist.
type resource[T groupObject] struct {
	plural, singular string
	shortNames       []string
	// objects names the objects in messages; plural if empty.
	objects string
	// empty is an empty list.
	empty   runtime.Object
	columns []builtin.Column
	row     func(T) metav1.TableRow
	// fields (optional) returns the fields for field selectors, with the values of an object. Without it they know only
	// the name.
	fields func(T) fields.Set

	// query (optional) reads the resource's own query parameters.
	query func(ctx context.Context, query url.Values) (context.Context, error)
	// get returns nil if no object has the name.
	get func(ctx context.Context, name string) (T, error)
	// all returns all objects, unversioned; selectors choose among them. list is for a resource with versions or pages.
	all   func(ctx context.Context) ([]T, error)
	list  func(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error)
	watch func(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error)
}

func groupResource(plural string) schema.GroupResource {
	return schema.GroupResource{Group: v1alpha1.GroupName, Resource: plural}
}

// generateName names a new object whose client gave only the beginning of its name.
func generateName(o metav1.Object) {
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(o.GetGenerateName() + utilrand.String(5))
	}
}

// checkName checks the name of a new object.
func checkName(o metav1.Object) (errs field.ErrorList) {
	at := field.NewPath("metadata", "name")
	if o.GetName() == "" {
		errs = append(errs, field.Required(at, "name or generateName is required"))
	}
	for _, problem := range content.IsPathSegmentName(o.GetName()) {
		errs = append(errs, field.Invalid(at, o.GetName(), problem))
	}
	return errs
}

// checkUID refuses to delete an object that has not the UID of the client's precondition.
func checkUID(resource schema.GroupResource, o metav1.Object, options *metav1.DeleteOptions) error {
	if options == nil || options.Preconditions == nil || options.Preconditions.UID == nil {
		return nil
	}
	wanted := *options.Preconditions.UID
	if wanted == o.GetUID() {
		return nil
	}
	return apierrors.NewConflict(resource, o.GetName(),
		fmt.Errorf("the UID in the precondition (%s) is not that of the object (%s)", wanted, o.GetUID()))
}

// anyResource is a resource whose functions take and return any object. The code that all resources share is written
// for it, because the compiler repeats the methods of a generic type for each type argument.
type anyResource struct {
	// resource lacks row, which table has.
	resource[groupObject]

	// pointer is the Go type of the objects.
	pointer reflect.Type
	table   *builtin.Table
	// source holds the original get and all of the declaration, because the structure shows where they are written.
	source struct{ get, all any }
}

// declare wraps the functions of a resource in type assertions. A function that the resource lacks stays nil.
func declare[T groupObject](r resource[T]) *anyResource {
	made := &anyResource{pointer: reflect.TypeFor[T](), resource: resource[groupObject]{
		plural: r.plural, singular: r.singular, shortNames: r.shortNames, objects: r.objects, empty: r.empty, columns: r.columns,
		query: r.query, list: r.list, watch: r.watch,
	}}
	made.source.get, made.source.all = r.get, r.all
	if r.get != nil {
		made.get = func(ctx context.Context, name string) (groupObject, error) {
			found, err := r.get(ctx, name)
			if none := *new(T); any(found) == any(none) {
				return nil, err
			}
			return found, err
		}
	}
	if r.all != nil {
		made.all = func(ctx context.Context) (objects []groupObject, err error) {
			all, err := r.all(ctx)
			for _, o := range all {
				objects = append(objects, o)
			}
			return objects, err
		}
	}
	if r.fields != nil {
		made.fields = func(o groupObject) fields.Set { return r.fields(o.(T)) }
	}
	if r.row != nil {
		made.table = builtin.NewTable(r.columns, func(o T) metav1.TableRow { return escapeRow(r.row(o)) })
	}
	return made
}

// escapeRow escapes the cells of a row, because most texts in this group come from other clients.
func escapeRow(row metav1.TableRow) metav1.TableRow {
	for i := range row.Cells {
		if text, ok := row.Cells[i].(string); ok {
			row.Cells[i] = escape.Line(text)
		}
	}
	return row
}

// kind returns the kind of the objects.
func (r *anyResource) kind() schema.GroupVersionKind {
	return v1alpha1.SchemeGroupVersion.WithKind(r.pointer.Elem().Name())
}

// storage returns the resource's storage. The installer offers the verbs whose interfaces the storage implements, so
// each set of functions has a type of its own.
func (r *anyResource) storage() rest.Storage {
	switch {
	case r.all == nil && r.list == nil:
		return getter{r}
	case r.watch == nil:
		return newLister(r)
	}
	return watcher{newLister(r)}
}

// getter is the storage of a resource that only has get.
type getter struct{ *anyResource }

func (g getter) New() runtime.Object { return g.newObject() }
func (g getter) Destroy()            {}

func (r *anyResource) newObject() groupObject {
	return reflect.New(r.pointer.Elem()).Interface().(groupObject)
}

func (g getter) ReadQuery(ctx context.Context, query url.Values) (context.Context, error) {
	if g.query == nil {
		return ctx, nil
	}
	return g.query(ctx, query)
}

func (g getter) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := g.get(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, apierrors.NewNotFound(groupResource(g.plural), name)
	}
	return found, nil
}

// lister is the storage of a resource that has get and list.
type lister struct {
	getter
	rest.TableConvertor
}

func newLister(r *anyResource) lister { return lister{getter{r}, r.table} }

func (l lister) NewList() runtime.Object { return l.empty.DeepCopyObject() }
func (l lister) NamespaceScoped() bool   { return false }
func (l lister) GetSingularName() string { return l.singular }
func (l lister) ShortNames() []string    { return l.shortNames }

func (l lister) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	if l.list != nil {
		return l.list(ctx, options)
	}
	if err := l.refusePages(options); err != nil {
		return nil, err
	}
	if version := options.ResourceVersion; version != "" && version != "0" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid resourceVersion %q: %s have none", version, l.names()))
	}
	all, err := l.all(ctx)
	if err != nil {
		return nil, err
	}
	return l.listOf(all, options, "")
}

func (r *anyResource) names() string {
	if r.objects != "" {
		return r.objects
	}
	return r.plural
}

// refusePages refuses a continue token. A list of few objects ignores the limit and is always whole, as the API allows.
func (r *anyResource) refusePages(options *metainternalversion.ListOptions) error {
	if options.Continue == "" {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %s are listed whole", r.names()))
}

// listOf returns the list of the objects that the selectors match.
func (r *anyResource) listOf(objects []groupObject, options *metainternalversion.ListOptions,
	resourceVersion string) (runtime.Object, error) {
	items := []runtime.Object{}
	for _, o := range objects {
		if r.selects(options, o) {
			items = append(items, o)
		}
	}
	list := r.empty.DeepCopyObject()
	list.(metav1.ListInterface).SetResourceVersion(resourceVersion)
	return list, meta.SetList(list, items)
}

// selects reports whether the selectors match an object. Without options they match all.
func (r *anyResource) selects(options *metainternalversion.ListOptions, o groupObject) bool {
	if options == nil {
		return true
	}
	if s := options.FieldSelector; s != nil && !s.Empty() && !s.Matches(r.fieldsOf(o)) {
		return false
	}
	return options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(o.GetLabels()))
}

func (r *anyResource) fieldsOf(o groupObject) fields.Set {
	if r.fields == nil {
		return fields.Set{"metadata.name": o.GetName()}
	}
	return r.fields(o)
}

// watcher is the storage of a resource that has get, list and watch.
type watcher struct{ lister }

func (w watcher) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	return w.watch(ctx, options)
}

// declaration is the declared resource of a storage.
type declaration interface {
	// addFields registers the fields for field selectors.
	addFields(s *runtime.Scheme)
	// function returns the function of a verb; nil if it does not come from the declaration.
	function(verb string) any
}

func (r *anyResource) function(verb string) any {
	switch {
	case verb == "get":
		return r.source.get
	case verb == "watch":
		return r.watch
	case verb == "list" && r.list != nil:
		return r.list
	case verb == "list":
		return r.source.all
	}
	return nil
}

func (r *anyResource) addFields(s *runtime.Scheme) {
	if r.fields == nil {
		return // the scheme already knows metadata.name
	}
	known := r.fields(r.newObject())
	utilruntime.Must(s.AddFieldLabelConversionFunc(r.kind(), func(label, value string) (string, string, error) {
		if !known.Has(label) {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
		return label, value, nil
	}))
}
