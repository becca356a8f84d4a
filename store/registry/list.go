package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/api/validation"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// List returns a list, decoded for the caller alone.
func (e *Store) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	list, err := e.ListEncoded(ctx, options)
	if err != nil {
		return nil, err
	}
	return object.Own(ctx, list)
}

// ListEncoded returns a list: an object.List, unless the Store has to look into the objects.
func (e *Store) ListEncoded(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	out, err := e.ListPredicate(ctx, e.predicate(options), options)
	if err != nil {
		return nil, err
	}
	e.decorate(ctx, out)
	return out, nil
}

// ListPredicate lists what p selects. options may be nil; their selectors are not looked at.
func (e *Store) ListPredicate(ctx context.Context, p store.SelectionPredicate,
	options *metainternalversion.ListOptions) (list runtime.Object, err error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	p.Limit, p.Continue = options.Limit, options.Continue
	opts := store.ListOptions{
		ResourceVersion:      options.ResourceVersion,
		ResourceVersionMatch: options.ResourceVersionMatch,
		Predicate:            p,
	}
	key, recursive, why := e.scope(ctx, &p)
	opts.Recursive = recursive

	ctx, step := trace.Start(ctx, steps.StoreList, key)
	defer step.End(&err)
	step.Why(why)
	e.noteDecorator(step)
	if step.Recording() {
		noteSelection(step, &opts)
	}

	if e.Decorator == nil && e.Storage.listsItems() {
		found, err := e.Storage.GetList(ctx, key, opts, nil)
		if err != nil {
			return nil, InterpretListError(ctx, err, e.qualifiedResourceFromContext(ctx))
		}
		resource := e.qualifiedResourceFromContext(ctx)
		items := found.Items.Failing(func(err error) error { return InterpretListError(ctx, err, resource) })
		out := &object.List{Items: items, New: e.NewListFunc}
		return out, e.Storage.Versioner().UpdateList(out, uint64(found.Revision), found.Continue, found.Remaining)
	}
	out := e.NewListFunc()
	if _, err := e.Storage.GetList(ctx, key, opts, out); err != nil {
		return nil, InterpretListError(ctx, err, e.qualifiedResourceFromContext(ctx))
	}
	return out, nil
}

// predicate makes a predicate of the options' selectors. It may ask many objects, so selectors of many terms are
// compiled.
func (e *Store) predicate(options *metainternalversion.ListOptions) store.SelectionPredicate {
	label, field := labels.Everything(), fields.Everything()
	if options != nil && options.LabelSelector != nil {
		label = store.CompileLabels(options.LabelSelector)
	}
	if options != nil && options.FieldSelector != nil {
		field = store.CompileFields(options.FieldSelector)
	}
	return store.SelectionPredicate{Label: label, Field: field, GetAttrs: e.AttrFunc}
}

var (
	allNamespaces = trace.Because("all-namespaces",
		"no namespace: all objects of the resource",
		"没有指定命名空间：该资源的全部对象")
	oneNamespace      = trace.Because("one-namespace", "one namespace of the resource", "该资源的一个命名空间")
	selectedNamespace = trace.Because("selected-namespace",
		"the field selector names a namespace: only that is read",
		"字段选择器指定了命名空间，只读它")
	selectedObject = trace.Because("selected-object",
		"the field selector names one object: only its key is read",
		"字段选择器指定了一个对象，只读它的键")
)

// scope returns the smallest part of the key space that holds all objects selected by p: one object, one namespace,
// or the resource. A selector with an invalid name does not narrow it, and selects nothing later.
func (e *Store) scope(ctx context.Context, p *store.SelectionPredicate) (key string, recursive bool, why trace.Reason) {
	why = allNamespaces
	if request.NamespaceValue(ctx) != "" {
		why = oneNamespace
	} else if ns, ok := p.MatchesSingleNamespace(); ok && len(validation.ValidateNamespaceName(ns, false)) == 0 {
		ctx = request.WithNamespace(ctx, ns)
		why = selectedNamespace
	}
	if name, ok := p.MatchesSingle(); ok {
		if key, err := e.keyOf(ctx, name); err == nil {
			return key, false, selectedObject
		}
	}
	return e.KeyRootFunc(ctx), true, why
}

// noteSelection records the selection in the step.
func noteSelection(step *trace.Step, opts *store.ListOptions) {
	note := func(name, value string) {
		if value != "" {
			step.Text(name, value)
		}
	}
	p := &opts.Predicate
	if p.Label != nil {
		note("labelSelector", p.Label.String())
	}
	if p.Field != nil {
		note("fieldSelector", mask.Selector(p.Field))
	}
	note("resourceVersion", opts.ResourceVersion)
	note("resourceVersionMatch", string(opts.ResourceVersionMatch))
	note("continue", p.Continue)
	if p.Limit > 0 {
		step.Int("limit", p.Limit)
	}
}
