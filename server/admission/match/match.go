package match

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace"

	kxv1alpha1 "github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Exempt reports whether a write skips webhooks and policies. Reviews do, since they are questions and no
// objects, and so does kx's own group.
func Exempt(a admission.Attributes) bool {
	return reviews[a.GetResource().GroupResource()] || a.GetResource().Group == kxv1alpha1.GroupName
}

var reviews = map[schema.GroupResource]bool{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}:       true,
	{Group: "authentication.k8s.io", Resource: "tokenreviews"}:             true,
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}:  true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}:   true,
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}:      true,
}

// ReadNamespace reads a namespace, no older than the request.
type ReadNamespace func(ctx context.Context, name string) (*corev1.Namespace, error)

// Namespace reports whether the namespace selector selects the write, by the labels of its namespace.
// Cluster-scoped objects always match, except namespaces, which match by their own labels.
func Namespace(ctx context.Context, read ReadNamespace, p namespace.NamespaceSelectorProvider, a admission.Attributes) (bool, error) {
	isNamespace := a.GetResource().Resource == "namespaces"
	if a.GetNamespace() == "" && !isNamespace {
		return true, nil
	}
	selector, err := p.GetParsedNamespaceSelector()
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	if selector.Empty() {
		return true, nil
	}
	written := a.GetOperation() == admission.Create || a.GetOperation() == admission.Update
	if isNamespace && a.GetSubresource() == "" && written {
		m, err := meta.Accessor(a.GetObject())
		if err != nil {
			return false, apierrors.NewInternalError(err)
		}
		return selector.Matches(labels.Set(m.GetLabels())), nil
	}
	found, err := read(ctx, a.GetNamespace())
	switch {
	case err == nil:
		return selector.Matches(labels.Set(found.Labels)), nil
	case apierrors.IsNotFound(err) || ctx.Err() != nil:
		return false, err
	}
	return false, apierrors.NewInternalError(err)
}

// ConvertObjects returns copies of a write's objects, converted to a kind.
func ConvertObjects(
	a admission.Attributes, kind schema.GroupVersionKind, o admission.ObjectInterfaces,
) (*admission.VersionedAttributes, error) {
	v := &admission.VersionedAttributes{Attributes: a, VersionedKind: kind}
	for _, one := range []struct {
		obj  runtime.Object
		into *admission.LazyObject
	}{{a.GetObject(), &v.VersionedObject}, {a.GetOldObject(), &v.VersionedOldObject}} {
		if one.obj == nil {
			continue
		}
		obj, err := convert(one.obj, kind, o)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		one.into.Set(obj)
	}
	return v, nil
}

// convert returns a copy of an object, converted to a kind.
func convert(obj runtime.Object, kind schema.GroupVersionKind, o admission.ObjectInterfaces) (runtime.Object, error) {
	out, err := o.GetObjectCreater().New(kind)
	if err != nil {
		return nil, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok && u.GroupVersionKind() == kind || !ok && reflect.TypeOf(obj) == reflect.TypeOf(out) {
		out = obj.DeepCopyObject()
	} else if err := o.GetObjectConvertor().Convert(obj, out, nil); err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(kind)
	return out, nil
}

// TakeOver overwrites dst with src, which may be in another version.
func TakeOver(dst, src runtime.Object, o admission.ObjectInterfaces) error {
	kind := dst.GetObjectKind().GroupVersionKind()
	if u, ok := dst.(*unstructured.Unstructured); ok {
		converted, err := convert(src, kind, o)
		if err != nil {
			return err
		}
		next, ok := converted.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("a %T became a %T", dst, converted)
		}
		u.Object = next.Object
		return nil
	}
	if reflect.TypeOf(dst) == reflect.TypeOf(src) {
		reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src.DeepCopyObject()).Elem())
	} else {
		// Fields that the webhook's version lacks must not survive in dst.
		reflect.ValueOf(dst).Elem().SetZero()
		if err := o.GetObjectConvertor().Convert(src, dst, nil); err != nil {
			return err
		}
	}
	dst.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}
