package customresource

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/server/crd/schema"
)

// metaScheme has the API's own types, such as Status, which clients of a custom resource receive beside its
// objects.
var metaScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	v1 := apischema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(s, v1)
	s.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroup{}, &metav1.APIGroupList{},
		&metav1.APIResourceList{})
	return s
}()

// creater creates objects without a Go type.
type creater struct{}

func (creater) New(kind apischema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	return obj, nil
}

// typer returns the kind of objects without a Go type, which they contain themselves.
type typer struct{}

var unstructuredTyper = crdserverscheme.NewUnstructuredObjectTyper()

func (typer) ObjectKinds(obj runtime.Object) ([]apischema.GroupVersionKind, bool, error) {
	if _, ok := obj.(runtime.Unstructured); !ok {
		return metaScheme.ObjectKinds(obj)
	}
	return unstructuredTyper.ObjectKinds(obj)
}

func (typer) Recognizes(kind apischema.GroupVersionKind) bool { return metaScheme.Recognizes(kind) }

// defaulter sets the defaults of an object by the schema of its version. As a runtime.ObjectDefaulter it can't
// fail: Default skips defaults that exceed the limit, and DefaultWithin returns an error.
type defaulter struct {
	schemas map[string]*schema.Schema
	kind    apischema.GroupKind
}

func (d defaulter) Default(obj runtime.Object) {
	if err := d.DefaultWithin(context.Background(), obj); err != nil {
		klog.V(2).ErrorS(err, "defaults were left out")
	}
}

// DefaultWithin is Default for a request, and fails when a default exceeds the limit.
func (d defaulter) DefaultWithin(ctx context.Context, obj runtime.Object) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	if s := d.of(u); s != nil {
		return s.Default(ctx, u.Object)
	}
	return nil
}

// Complete fails if Default has skipped something and it still exceeds the limit.
func (d defaulter) Complete(ctx context.Context, obj runtime.Object) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	if s := d.of(u); s != nil {
		return s.Complete(ctx, u.Object)
	}
	return nil
}

// of returns the schema of an object's version, nil if the object is of another kind.
func (d defaulter) of(u *unstructured.Unstructured) *schema.Schema {
	kind := u.GroupVersionKind()
	if kind.GroupKind() != d.kind {
		return nil
	}
	return d.schemas[kind.Version]
}
