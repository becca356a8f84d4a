package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/backend"
)

// Bindings declares the resource bindings: the same as pods/binding, for clients from before subresources.
var Bindings builtin.Declaration = bindings{}

type bindings struct{}

func (bindings) Name() string                      { return "bindings" }
func (bindings) StoredIn() schema.GroupVersion     { return schema.GroupVersion{} }
func (bindings) AddToScheme(*runtime.Scheme) error { return nil }
func (bindings) Manifest() string                  { return "" }
func (bindings) Versions() map[schema.GroupVersion][]string {
	return map[schema.GroupVersion][]string{corev1.SchemeGroupVersion: nil}
}

// NewStorages makes a second storage of pods, besides the one of the resource pods.
func (bindings) NewStorages(getter backend.RESTOptionsGetter) (map[string]rest.Storage, error) {
	pods, err := builtin.Declare(Resource).NewREST(getter)
	if err != nil {
		return nil, err
	}
	return map[string]rest.Storage{"": bindingsREST{&BindingREST{pods.Store}}}, nil
}

type bindingsREST struct{ binding *BindingREST }

var (
	_ rest.Creater              = bindingsREST{}
	_ rest.Scoper               = bindingsREST{}
	_ rest.SingularNameProvider = bindingsREST{}
)

func (r bindingsREST) New() runtime.Object   { return r.binding.New() }
func (r bindingsREST) Destroy()              { r.binding.pods.Destroy() }
func (bindingsREST) NamespaceScoped() bool   { return true }
func (bindingsREST) GetSingularName() string { return "binding" }

// Create binds the pod of the binding's name.
func (r bindingsREST) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return r.binding.Create(ctx, m.GetName(), obj, createValidation, options)
}
