package trial

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/dynamic"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/admission/policy"
)

// mostParams limits the params of a kind in memory.
const mostParams = 1000

// params holds the objects of a kind: first those of the files, then those of the server. Each is read once.
type params struct {
	rest.TableConvertor // never called

	kind       schema.GroupVersionKind
	namespaced bool
	given      []*unstructured.Unstructured
	server     dynamic.NamespaceableResourceInterface // nil if the kind is not served
	known      map[string]*unstructured.Unstructured
	lists      map[string]*unstructured.UnstructuredList
}

// ofKind finds the params of a kind.
func (t *Trial) ofKind(kind schema.GroupVersionKind) (policy.Params, bool) {
	if known, ok := t.params[kind]; ok {
		return known, known.Storage != nil
	}
	p := &params{kind: kind, known: map[string]*unstructured.Unstructured{}, lists: map[string]*unstructured.UnstructuredList{}}
	for _, one := range t.set.Params {
		if one.GroupVersionKind() == kind {
			p.given = append(p.given, one)
			p.namespaced = p.namespaced || one.GetNamespace() != ""
		}
	}
	found := policy.Params{Storage: p, Resource: kind.GroupVersion().WithResource(kind.Kind)}
	mapping, err := t.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case err == nil:
		p.server, p.namespaced = t.dynamic.Resource(mapping.Resource), mapping.Scope.Name() == meta.RESTScopeNameNamespace
		found.Resource = mapping.Resource
	case len(p.given) == 0:
		found.Storage = nil
	}
	t.params[kind] = found
	return found, found.Storage != nil
}

func (p *params) New() runtime.Object     { return &unstructured.Unstructured{} }
func (p *params) NewList() runtime.Object { return &unstructured.UnstructuredList{} }
func (p *params) Destroy()                {}
func (p *params) NamespaceScoped() bool   { return p.namespaced }

// Get returns the params of a name. Those of the files take precedence.
func (p *params) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	namespace := request.NamespaceValue(ctx)
	for _, one := range p.given {
		if one.GetName() == name && p.inNamespace(one, namespace) {
			return one, nil
		}
	}
	missing := apierrors.NewNotFound(schema.GroupResource{Group: p.kind.Group, Resource: p.kind.Kind}, name)
	if p.server == nil {
		return nil, missing
	}
	key := namespace + "/" + name
	if known, ok := p.known[key]; ok {
		if known == nil {
			return nil, missing
		}
		return known, nil
	}
	obj, err := p.server.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		obj = nil
	case err != nil:
		return nil, fmt.Errorf("read the params %s: %w", key, err)
	}
	if len(p.known) >= mostParams {
		clear(p.known)
	}
	p.known[key] = obj
	if obj == nil {
		return nil, missing
	}
	return obj, nil
}

// inNamespace reports whether an object of the files is in a namespace. An object without a namespace is where kubectl
// would create it.
func (p *params) inNamespace(one *unstructured.Unstructured, namespace string) bool {
	own := one.GetNamespace()
	if own == "" && p.namespaced {
		own = metav1.NamespaceDefault
	}
	return own == namespace
}

// List returns the params that a selector matches.
func (p *params) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	namespace, selector := request.NamespaceValue(ctx), labels.Everything()
	if options.LabelSelector != nil {
		selector = options.LabelSelector
	}
	key := namespace + "/" + selector.String()
	if known, ok := p.lists[key]; ok {
		return known, nil
	}
	all, given := &unstructured.UnstructuredList{}, map[string]bool{}
	for _, one := range p.given {
		if p.inNamespace(one, namespace) {
			given[one.GetName()] = true
			if selector.Matches(labels.Set(one.GetLabels())) {
				all.Items = append(all.Items, *one)
			}
		}
	}
	if p.server != nil {
		list, err := p.server.Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String(), Limit: mostParams})
		if err != nil {
			return nil, fmt.Errorf("list the params in %q: %w", namespace, err)
		}
		if list.GetContinue() != "" {
			return nil, fmt.Errorf("the selector %q of the params is about more than %d objects: choose fewer", selector, mostParams)
		}
		for i := range list.Items {
			if !given[list.Items[i].GetName()] {
				all.Items = append(all.Items, list.Items[i])
			}
		}
	}
	p.lists[key] = all
	return all, nil
}

// mostNamespaces limits the namespaces in memory.
const mostNamespaces = 1000

// namespace reads a namespace.
func (t *Trial) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	if known := t.namespaces[name]; known != nil {
		return known, nil
	}
	found, err := t.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if len(t.namespaces) >= mostNamespaces {
		clear(t.namespaces)
	}
	t.namespaces[name] = found
	return found, nil
}
