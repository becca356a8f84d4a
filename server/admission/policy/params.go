package policy

import (
	"context"
	"errors"
	"fmt"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

// Params reads the objects of a kind that policies use as params.
type Params struct {
	Resource schema.GroupVersionResource
	// Storage returns custom resources in the version of the kind, and built-in ones in their stored version.
	Storage rest.Storage
}

// kindOf returns the kind of a policy's params.
func kindOf(k *registrationv1.ParamKind) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
}

// paramsOf returns the params of a policy. It fails if their kind is not served.
func (v *visit) paramsOf(k *registrationv1.ParamKind) (Params, error) {
	if k == nil {
		return Params{}, nil
	}
	params, found := v.p.ofKind(kindOf(k))
	if !found {
		return Params{}, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", kindOf(k))
	}
	return params, nil
}

// collect reads the params that a binding names. A policy or a binding without params yields one nil.
func (v *visit) collect(ctx context.Context, kind *registrationv1.ParamKind, from Params,
	ref *registrationv1.ParamRef) (params []runtime.Object, err error) {
	if kind == nil || ref == nil {
		return []runtime.Object{nil}, nil
	}
	scoper, ok := from.Storage.(rest.Scoper)
	namespace := ""
	switch namespaced := ok && scoper.NamespaceScoped(); {
	case !namespaced && ref.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !namespaced:
	case ref.Namespace != "":
		namespace = ref.Namespace
	case v.w.GetNamespace() == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	default:
		namespace = v.w.GetNamespace()
	}
	add := func(obj runtime.Object) error {
		param, err := asParam(obj, kindOf(kind))
		params = append(params, param)
		return err
	}
	if ref.Name != "" {
		err = from.get(ctx, namespace, ref.Name, add)
	} else {
		err = from.list(ctx, namespace, ref.Selector, add)
	}
	if err != nil {
		return nil, err
	}
	if len(params) == 0 && ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction == registrationv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return params, nil
}

// get calls add with an object, if it exists.
func (p Params) get(ctx context.Context, namespace, name string, add func(runtime.Object) error) error {
	getter, ok := p.Storage.(rest.Getter)
	if !ok {
		return fmt.Errorf("objects of %s cannot be read one by one", p.Resource.GroupResource())
	}
	obj, err := getter.Get(p.readContext(ctx, "get", namespace, name), name, &metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return add(obj)
}

// list calls add with each object that the selector selects.
func (p Params) list(ctx context.Context, namespace string, s *metav1.LabelSelector, add func(runtime.Object) error) error {
	lister, ok := p.Storage.(rest.Lister)
	if !ok {
		return fmt.Errorf("objects of %s cannot be listed", p.Resource.GroupResource())
	}
	if s == nil {
		return errors.New("one of name or selector must be provided")
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return err
	}
	list, err := lister.List(p.readContext(ctx, "list", namespace, ""), &metainternalversion.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	return object.Each(ctx, list, add)
}

// readContext returns the context of a read. Errors name its resource.
func (p Params) readContext(ctx context.Context, verb, namespace, name string) context.Context {
	ctx = request.WithNamespace(ctx, namespace)
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: p.Resource.Group, APIVersion: p.Resource.Version, Resource: p.Resource.Resource,
		Namespace: namespace, Name: name,
	})
}

// asParam returns an object in the form that expressions use, which is the one of clients, with its kind. obj
// may be shared and stays unchanged.
func asParam(obj runtime.Object, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	obj, err := object.Decode(obj)
	if err != nil {
		return nil, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u, nil
	}
	if obj, err = scheme.Scheme.ConvertToVersion(obj, kind.GroupVersion()); err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	return u, nil
}
