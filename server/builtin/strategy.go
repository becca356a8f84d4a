package builtin

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
)

// Strategy does nothing special on create, update and delete. It is a rest.RESTCreateUpdateStrategy and a
// rest.RESTDeleteStrategy; resources embed it and override what they must.
type Strategy struct {
	runtime.ObjectTyper
	rest.NameGenerator

	namespaced bool
}

var _ rest.RESTCreateUpdateStrategy = Strategy{}

// NewStrategy is the strategy of a resource that lives in namespaces, or of one that does not.
func NewStrategy(namespaced bool) Strategy {
	return Strategy{ObjectTyper: Typer, NameGenerator: rest.SimpleNameGenerator, namespaced: namespaced}
}

func (s Strategy) NamespaceScoped() bool { return s.namespaced }

func (Strategy) PrepareForCreate(context.Context, runtime.Object)                 {}
func (Strategy) Validate(context.Context, runtime.Object) field.ErrorList         { return nil }
func (Strategy) WarningsOnCreate(context.Context, runtime.Object) []string        { return nil }
func (Strategy) Canonicalize(runtime.Object)                                      {}
func (Strategy) AllowCreateOnUpdate() bool                                        { return false }
func (Strategy) AllowUnconditionalUpdate() bool                                   { return true }
func (Strategy) PrepareForUpdate(context.Context, runtime.Object, runtime.Object) {}

func (Strategy) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

func (Strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// StatusStrategy is how a status subresource, or another that changes a part of the same object, updates objects of
// type T.
type StatusStrategy[T runtime.Object] struct {
	// RESTUpdateStrategy is the resource's own.
	rest.RESTUpdateStrategy
	// Keep takes from old into obj all that this subresource may not change.
	Keep func(obj, old T)
	// Reset names what Keep takes from old, as far as clients could own it.
	Reset map[fieldpath.APIVersion]*fieldpath.Set
	// Check (optional) validates the update.
	Check func(obj, old T) field.ErrorList
}

func (s StatusStrategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	s.Keep(obj.(T), old.(T))
}

func (s StatusStrategy[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	if s.Check == nil {
		return nil
	}
	return s.Check(obj.(T), old.(T))
}

func (StatusStrategy[T]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
