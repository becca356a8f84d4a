package customresource

import (
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
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
