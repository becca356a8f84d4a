package builtin

import (
	"context"
	"fmt"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
)

// Strategy creates, updates and deletes objects as their [Resource] declares.
type Strategy[T Object] struct {
	rest.NameGenerator

	resource *Resource[T]
	name     string
}

// String names the declaration that has the rules: "configmap.Resource".
func (s Strategy[T]) String() string { return s.name }

var (
	_ rest.RESTCreateUpdateStrategy        = Strategy[Object]{}
	_ rest.GarbageCollectionDeleteStrategy = Strategy[Object]{}
	_ rest.ResetFieldsStrategy             = Strategy[Object]{}
	_ rest.DeclaringStrategy               = Strategy[Object]{}
)

// ObjectKinds is the stored kind: below the handlers there is no other.
func (s Strategy[T]) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if _, ok := obj.(T); !ok {
		return nil, false, runtime.NewNotRegisteredErrForType("builtin.Strategy", reflect.TypeOf(obj))
	}
	return []schema.GroupVersionKind{s.kind()}, false, nil
}

func (s Strategy[T]) Recognizes(kind schema.GroupVersionKind) bool { return kind == s.kind() }

func (s Strategy[T]) kind() schema.GroupVersionKind { return s.resource.Stored.WithKind(kindOf[T]()) }

func (s Strategy[T]) NamespaceScoped() bool          { return !s.resource.ClusterScoped }
func (s Strategy[T]) AllowCreateOnUpdate() bool      { return s.resource.CreateOnUpdate }
func (s Strategy[T]) AllowUnconditionalUpdate() bool { return !s.resource.ConditionalUpdate }

func (s Strategy[T]) DeclaresRules() bool { return !s.resource.Undeclared }

// DefaultGarbageCollectionPolicy deletes dependents, unless the resource says otherwise.
func (s Strategy[T]) DefaultGarbageCollectionPolicy(ctx context.Context) rest.GarbageCollectionPolicy {
	if s.resource.Dependents == nil {
		return rest.DeleteDependents
	}
	return s.resource.Dependents(ctx)
}

// GetResetFields names the status: a client that writes the object can not own it.
func (s Strategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if s.resource.Status == nil {
		return nil
	}
	return resetFieldsIn(append([]schema.GroupVersion{s.resource.Stored}, s.resource.resetIn()...), "status")
}

// PrepareForCreate begins with an empty status and the first generation.
func (s Strategy[T]) PrepareForCreate(ctx context.Context, object runtime.Object) {
	obj := object.(T)
	if s.resource.Status != nil {
		reflect.ValueOf(s.resource.Status.Of(obj)).Elem().SetZero()
	}
	if s.resource.Spec != nil {
		obj.SetGeneration(1)
	}
	if s.resource.PrepareCreate != nil {
		s.resource.PrepareCreate(ctx, obj)
	}
}

// PrepareForUpdate keeps the status, and counts the generation if the spec has changed.
func (s Strategy[T]) PrepareForUpdate(_ context.Context, object, oldObject runtime.Object) {
	obj, old := object.(T), oldObject.(T)
	if s.resource.Status != nil {
		reflect.ValueOf(s.resource.Status.Of(obj)).Elem().Set(reflect.ValueOf(s.resource.Status.Of(old)).Elem())
	}
	if s.resource.PrepareUpdate != nil {
		s.resource.PrepareUpdate(obj, old)
	}
	if s.resource.Spec != nil && !apiequality.Semantic.DeepEqual(s.resource.Spec(obj), s.resource.Spec(old)) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

func (s Strategy[T]) Canonicalize(obj runtime.Object) {
	if s.resource.Canonicalize != nil {
		s.resource.Canonicalize(obj.(T))
	}
}

func (s Strategy[T]) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return s.resource.Validate(obj.(T))
}

func (s Strategy[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.resource.ValidateUpdate(obj.(T), old.(T))
}

func (s Strategy[T]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if s.resource.Warnings == nil {
		return nil
	}
	var none T
	return s.resource.Warnings(obj.(T), none)
}

func (s Strategy[T]) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if s.resource.Warnings == nil {
		return nil
	}
	return s.resource.Warnings(obj.(T), old.(T))
}

// As returns obj as a T, decoded. It may be shared: the caller must not change it. The error names its type.
func As[T runtime.Object](obj runtime.Object) (t T, err error) {
	if obj, err = object.Decoded(obj); err != nil {
		return t, err
	}
	t, ok := obj.(T)
	if !ok {
		return t, fmt.Errorf("not a %T: %T", t, obj)
	}
	return t, nil
}

// OnlyCollected says whether an update changes only what the garbage collector does.
func OnlyCollected[T Object](obj, old T) bool {
	same := obj.DeepCopyObject().(T)
	same.SetOwnerReferences(old.GetOwnerReferences())
	same.SetFinalizers(old.GetFinalizers())
	same.SetManagedFields(old.GetManagedFields())
	return apiequality.Semantic.DeepEqual(same, old)
}
