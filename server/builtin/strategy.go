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
type Strategy struct {
	rest.NameGenerator

	resource *AnyResource
	name     string
}

// String names the variable that declares the resource: "core.ConfigMap".
func (s Strategy) String() string { return s.name }

var (
	_ rest.RESTCreateUpdateStrategy        = Strategy{}
	_ rest.GarbageCollectionDeleteStrategy = Strategy{}
	_ rest.ResetFieldsStrategy             = Strategy{}
	_ rest.DeclaringStrategy               = Strategy{}
)

// ObjectKinds returns the stored kind: below the handlers there is no other.
func (s Strategy) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if reflect.TypeOf(obj) != s.resource.pointer {
		return nil, false, runtime.NewNotRegisteredErrForType("builtin.Strategy", reflect.TypeOf(obj))
	}
	return []schema.GroupVersionKind{s.kind()}, false, nil
}

func (s Strategy) Recognizes(kind schema.GroupVersionKind) bool { return kind == s.kind() }

func (s Strategy) kind() schema.GroupVersionKind { return s.resource.Stored.WithKind(s.resource.kind) }

func (s Strategy) NamespaceScoped() bool          { return !s.resource.ClusterScoped }
func (s Strategy) AllowCreateOnUpdate() bool      { return s.resource.CreateOnUpdate }
func (s Strategy) AllowUnconditionalUpdate() bool { return !s.resource.ConditionalUpdate }

func (s Strategy) DeclaresRules() bool { return !s.resource.Undeclared }

// DefaultGarbageCollectionPolicy deletes dependents, unless the resource declares another policy.
func (s Strategy) DefaultGarbageCollectionPolicy(ctx context.Context) rest.GarbageCollectionPolicy {
	if s.resource.Dependents == nil {
		return rest.DeleteDependents
	}
	return s.resource.Dependents(ctx)
}

// GetResetFields returns the status: a client that writes the object cannot own it.
func (s Strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if s.resource.Status == nil {
		return nil
	}
	return resetFieldsIn(append([]schema.GroupVersion{s.resource.Stored}, s.resource.resetIn()...), "status")
}

// PrepareForCreate empties the status and sets the first generation.
func (s Strategy) PrepareForCreate(ctx context.Context, object runtime.Object) {
	obj := object.(Object)
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

// PrepareForUpdate restores the status, and increments the generation if the spec has changed.
func (s Strategy) PrepareForUpdate(_ context.Context, object, oldObject runtime.Object) {
	obj, old := object.(Object), oldObject.(Object)
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

func (s Strategy) Canonicalize(obj runtime.Object) {
	if s.resource.Canonicalize != nil {
		s.resource.Canonicalize(obj.(Object))
	}
}

func (s Strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return s.resource.Validate(obj.(Object))
}

func (s Strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.resource.ValidateUpdate(obj.(Object), old.(Object))
}

func (s Strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if s.resource.Warnings == nil {
		return nil
	}
	return s.resource.Warnings(obj.(Object), nil)
}

func (s Strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if s.resource.Warnings == nil {
		return nil
	}
	return s.resource.Warnings(obj.(Object), old.(Object))
}

// As decodes obj if it is encoded, and returns it as a T. The result may be shared: the caller must not change it.
// The error names obj's type.
func As[T runtime.Object](obj runtime.Object) (t T, err error) {
	if obj, err = object.Decode(obj); err != nil {
		return t, err
	}
	t, ok := obj.(T)
	if !ok {
		return t, fmt.Errorf("not a %T: %T", t, obj)
	}
	return t, nil
}

// OnlyCollected reports whether an update changes only the fields that the garbage collector changes.
func OnlyCollected(obj, old Object) bool {
	same := obj.DeepCopyObject().(Object)
	same.SetOwnerReferences(old.GetOwnerReferences())
	same.SetFinalizers(old.GetFinalizers())
	same.SetManagedFields(old.GetManagedFields())
	return apiequality.Semantic.DeepEqual(same, old)
}
