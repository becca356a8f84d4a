package builtin

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/backend"
)

// Review declares a resource whose objects are questions: they are answered, and not stored. T points to their type.
type Review[T runtime.Object] struct {
	Names
	Served     schema.GroupVersion
	Namespaced bool
	// Validate (optional) refuses a question. It runs before admission.
	Validate func(T) error
	// Answer runs after admission.
	Answer func(context.Context, T) (T, error)
	// Sample is a question, as in [Resource].
	Sample string
}

// ReviewREST answers questions.
type ReviewREST[T runtime.Object] struct {
	review Review[T]
}

var (
	_ Declaration               = Review[runtime.Object]{}
	_ rest.Creater              = ReviewREST[runtime.Object]{}
	_ rest.Scoper               = ReviewREST[runtime.Object]{}
	_ rest.SingularNameProvider = ReviewREST[runtime.Object]{}
)

func (r Review[T]) Name() string                { return r.Plural }
func (Review[T]) StoredIn() schema.GroupVersion { return schema.GroupVersion{} }
func (r Review[T]) Versions() map[schema.GroupVersion][]string {
	return map[schema.GroupVersion][]string{r.Served: nil}
}
func (Review[T]) AddToScheme(*runtime.Scheme) error { return nil }

// Manifest has no metadata: a question has no name.
func (r Review[T]) Manifest() string { return manifest(r.Served.WithKind(kindOf[T]()), r.Sample) }

func (r Review[T]) NewStorages(backend.RESTOptionsGetter) (map[string]rest.Storage, error) {
	return map[string]rest.Storage{"": ReviewREST[T]{r}}, nil
}

func (ReviewREST[T]) New() runtime.Object       { return newOf[T]()() }
func (ReviewREST[T]) Destroy()                  {}
func (r ReviewREST[T]) NamespaceScoped() bool   { return r.review.Namespaced }
func (r ReviewREST[T]) GetSingularName() string { return r.review.Singular }

// Create answers a question.
func (r ReviewREST[T]) Create(ctx context.Context, object runtime.Object, createValidation rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	question, err := As[T](object)
	if err != nil {
		return nil, err
	}
	if r.review.Validate != nil {
		if err := r.review.Validate(question); err != nil {
			return nil, err
		}
	}
	if createValidation != nil {
		if err := createValidation(ctx, object.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return r.review.Answer(ctx, question)
}
