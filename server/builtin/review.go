package builtin

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/backend"
)

// Review declares a resource whose objects are questions: the server answers them and does not store them. T is a
// pointer to their Go type.
type Review[T runtime.Object] struct {
	Names
	Served     schema.GroupVersion
	Namespaced bool
	// Validate (optional) refuses a question. It runs before admission.
	Validate func(T) error
	// Answer runs after admission.
	Answer func(context.Context, T) (T, error)
	// Sample is a typical question, as in [Resource].
	Sample string
}

// DeclareReview turns a review into an entry for the table of all resources.
func DeclareReview[T runtime.Object](r Review[T]) Declaration {
	d := reviews{Names: r.Names, served: r.Served, namespaced: r.Namespaced, pointer: reflect.TypeFor[T](), sample: r.Sample}
	d.question = func(obj runtime.Object) (runtime.Object, error) { return As[T](obj) }
	d.answer = func(ctx context.Context, obj runtime.Object) (runtime.Object, error) { return r.Answer(ctx, obj.(T)) }
	if r.Validate != nil {
		d.validate = func(obj runtime.Object) error { return r.Validate(obj.(T)) }
	}
	return d
}

// reviews is a Review whose functions take any object and assert its type.
type reviews struct {
	Names
	served     schema.GroupVersion
	namespaced bool
	// pointer is the Go type of questions. question checks that an object has this type.
	pointer  reflect.Type
	question func(runtime.Object) (runtime.Object, error)
	validate func(runtime.Object) error
	answer   func(context.Context, runtime.Object) (runtime.Object, error)
	sample   string
}

// ReviewREST answers questions.
type ReviewREST struct {
	review reviews
}

var (
	_ rest.Creater              = ReviewREST{}
	_ rest.Scoper               = ReviewREST{}
	_ rest.SingularNameProvider = ReviewREST{}
)

func (r reviews) Name() string                { return r.Plural }
func (reviews) StoredIn() schema.GroupVersion { return schema.GroupVersion{} }
func (r reviews) Versions() map[schema.GroupVersion][]string {
	return map[schema.GroupVersion][]string{r.served: nil}
}
func (reviews) AddToScheme(*runtime.Scheme) error { return nil }

// Manifest returns the sample. It has no metadata: a question has no name.
func (r reviews) Manifest() string {
	return manifest(r.served.WithKind(r.pointer.Elem().Name()), r.sample)
}

func (r reviews) NewStorages(backend.RESTOptionsGetter) (map[string]rest.Storage, error) {
	return map[string]rest.Storage{"": ReviewREST{r}}, nil
}

func (r ReviewREST) New() runtime.Object     { return newOf(r.review.pointer)() }
func (ReviewREST) Destroy()                  {}
func (r ReviewREST) NamespaceScoped() bool   { return r.review.namespaced }
func (r ReviewREST) GetSingularName() string { return r.review.Singular }

// Create answers a question.
func (r ReviewREST) Create(ctx context.Context, object runtime.Object, createValidation rest.ValidateObjectFunc,
	_ *metav1.CreateOptions) (runtime.Object, error) {
	question, err := r.review.question(object)
	if err != nil {
		return nil, err
	}
	if r.review.validate != nil {
		if err := r.review.validate(question); err != nil {
			return nil, err
		}
	}
	if createValidation != nil {
		if err := createValidation(ctx, object.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return r.review.answer(ctx, question)
}
