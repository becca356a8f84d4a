package kxapi

import (
	"context"
	"fmt"
	"net/url"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/table"
)

// groupObject is a pointer to one of the group's types.
type groupObject interface {
	comparable
	runtime.Object
	metav1.Object
}

// resource declares a resource of the group, or a subresource. etcd holds nothing of it: the functions answer from the
// state of the server at that moment. A verb whose function is nil does not exist.
type resource[T groupObject] struct {
	plural, singular string
	shortNames       []string
	// objects names the objects in messages; plural if empty.
	objects string
	// empty is an empty list.
	empty   runtime.Object
	columns []table.Column
	row     func(T) metav1.TableRow
	// fields (optional) are those that field selectors know, with the values of an object. Without it they know the name.
	fields func(T) fields.Set

	// query (optional) reads the resource's own query parameters.
	query func(ctx context.Context, query url.Values) (context.Context, error)
	// get returns nil if nothing has the name.
	get func(ctx context.Context, name string) (T, error)
	// all returns all objects, unversioned: selectors pick from them. list is for a resource with versions or pages.
	all   func(ctx context.Context) ([]T, error)
	list  func(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error)
	watch func(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error)
}

func groupResource(plural string) schema.GroupResource {
	return schema.GroupResource{Group: v1alpha1.GroupName, Resource: plural}
}

// kindOf is the kind of a Go type.
func kindOf[T groupObject]() schema.GroupVersionKind {
	return v1alpha1.SchemeGroupVersion.WithKind(reflect.TypeFor[T]().Elem().Name())
}

// storage returns the resource's storage. The installer offers the verbs whose interfaces the storage implements, so each
// set of functions has a type of its own.
func (r resource[T]) storage() rest.Storage {
	switch {
	case r.all == nil && r.list == nil:
		return getter[T]{&r}
	case r.watch == nil:
		return newLister(&r)
	}
	return watcher[T]{newLister(&r)}
}

// getter is the storage of a resource that only has get.
type getter[T groupObject] struct{ *resource[T] }

func (g getter[T]) New() runtime.Object { return g.newObject() }
func (g getter[T]) Destroy()            {}

func (r *resource[T]) newObject() T { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) }

func (g getter[T]) ReadQuery(ctx context.Context, query url.Values) (context.Context, error) {
	if g.query == nil {
		return ctx, nil
	}
	return g.query(ctx, query)
}

func (g getter[T]) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := g.get(ctx, name)
	var none T
	switch {
	case err != nil:
		return nil, err
	case found == none:
		return nil, apierrors.NewNotFound(groupResource(g.plural), name)
	}
	return found, nil
}

// lister is the storage of a resource that has get and list.
type lister[T groupObject] struct {
	getter[T]
	rest.TableConvertor
}

// newLister escapes the cells of the resource's tables: most of what this group shows was written by others.
func newLister[T groupObject](r *resource[T]) lister[T] {
	return lister[T]{getter[T]{r}, table.New(r.columns, func(obj T) metav1.TableRow {
		row := r.row(obj)
		for i := range row.Cells {
			if text, ok := row.Cells[i].(string); ok {
				row.Cells[i] = escape.Line(text)
			}
		}
		return row
	})}
}

func (l lister[T]) NewList() runtime.Object { return l.empty.DeepCopyObject() }
func (l lister[T]) NamespaceScoped() bool   { return false }
func (l lister[T]) GetSingularName() string { return l.singular }
func (l lister[T]) ShortNames() []string    { return l.shortNames }

func (l lister[T]) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
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

func (r *resource[T]) names() string {
	if r.objects != "" {
		return r.objects
	}
	return r.plural
}

// refusePages refuses a continue token. A list of few objects is sent whole whatever the limit, which servers may do.
func (r *resource[T]) refusePages(options *metainternalversion.ListOptions) error {
	if options.Continue == "" {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %s are listed whole", r.names()))
}

// listOf returns the list of those objects that the selectors pick.
func (r *resource[T]) listOf(objects []T, options *metainternalversion.ListOptions, resourceVersion string) (runtime.Object, error) {
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

// selects says whether the selectors pick an object. Without options they pick all.
func (r *resource[T]) selects(options *metainternalversion.ListOptions, o T) bool {
	if options == nil {
		return true
	}
	if s := options.FieldSelector; s != nil && !s.Empty() && !s.Matches(r.fieldsOf(o)) {
		return false
	}
	return options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(o.GetLabels()))
}

func (r *resource[T]) fieldsOf(o T) fields.Set {
	if r.fields == nil {
		return fields.Set{"metadata.name": o.GetName()}
	}
	return r.fields(o)
}

// watcher is the storage of a resource that has get, list and watch.
type watcher[T groupObject] struct{ lister[T] }

func (w watcher[T]) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	return w.watch(ctx, options)
}

// declaration is the resource of a storage.
type declaration interface {
	// addFields registers the fields that field selectors know.
	addFields(s *runtime.Scheme)
	// function does a verb; nil if it does not come from the declaration.
	function(verb string) any
}

func (r *resource[T]) function(verb string) any {
	switch {
	case verb == "get":
		return r.get
	case verb == "watch":
		return r.watch
	case verb == "list" && r.list != nil:
		return r.list
	case verb == "list":
		return r.all
	}
	return nil
}

func (r *resource[T]) addFields(s *runtime.Scheme) {
	if r.fields == nil {
		return // the scheme knows the name itself
	}
	known := r.fields(r.newObject())
	utilruntime.Must(s.AddFieldLabelConversionFunc(kindOf[T](), func(label, value string) (string, string, error) {
		if !known.Has(label) {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
		return label, value, nil
	}))
}
