package builtin

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
)

// Part declares a subresource that updates a part of an object.
type Part[T Object] struct {
	// Keep copies from old to obj every field that the subresource may not change.
	Keep func(obj, old T)
	// Reset names those fields copied by Keep that clients could otherwise own: "spec" if nil.
	Reset []string
	// Allow checks, before Check, whether the client may make the update. Check validates the update.
	Allow func(ctx context.Context, obj, old T) field.ErrorList
	Check func(obj, old T) field.ErrorList
	// Warnings returns warnings for the client that wrote obj.
	Warnings func(obj T) []string

	// resetIn lists further versions in which clients cannot own the fields of Reset.
	resetIn []schema.GroupVersion
}

// Status declares the subresource status.
type Status[T Object] struct {
	// Of returns a pointer to an object's status.
	Of func(T) any
	Part[T]
}

// NewPart makes the storage of a subresource of main. stored is the version in which main's objects are stored.
func NewPart[T Object](main *REST, name string, stored schema.GroupVersion, part Part[T]) *StatusREST {
	return main.newPart(name, stored, anyPart(part))
}

func (r *REST) newPart(name string, stored schema.GroupVersion, part Part[Object]) *StatusREST {
	return r.subresource(newStatusStrategy(r.UpdateStrategy, name, stored, part))
}

// StatusStrategy updates the part of an object that a subresource declares.
type StatusStrategy struct {
	// RESTUpdateStrategy is the strategy of the resource itself.
	rest.RESTUpdateStrategy

	name  string
	part  Part[Object]
	reset map[fieldpath.APIVersion]*fieldpath.Set
}

// NewStatusStrategy makes a strategy that updates a part, from main, which updates the whole object.
func NewStatusStrategy[T Object](main rest.RESTUpdateStrategy, name string, stored schema.GroupVersion, part Part[T]) StatusStrategy {
	return newStatusStrategy(main, name, stored, anyPart(part))
}

func newStatusStrategy(main rest.RESTUpdateStrategy, name string, stored schema.GroupVersion, part Part[Object]) StatusStrategy {
	reset := part.Reset
	if reset == nil {
		reset = []string{"spec"}
	}
	versions := append([]schema.GroupVersion{stored}, part.resetIn...)
	return StatusStrategy{main, fmt.Sprintf("%v %s", main, name), part, resetFieldsIn(versions, reset...)}
}

// String names the declaration and the subresource: "pod.Resource status".
func (s StatusStrategy) String() string { return s.name }

// DeclaresRules asks the main strategy: rules are declared for a part if they are for the whole.
func (s StatusStrategy) DeclaresRules() bool {
	main, ok := s.RESTUpdateStrategy.(rest.DeclaringStrategy)
	return ok && main.DeclaresRules()
}

func (s StatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	s.part.Keep(obj.(Object), old.(Object))
}

func (s StatusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) (errs field.ErrorList) {
	if s.part.Allow != nil {
		errs = s.part.Allow(ctx, obj.(Object), old.(Object))
	}
	if s.part.Check == nil {
		return errs
	}
	return append(errs, s.part.Check(obj.(Object), old.(Object))...)
}

func (s StatusStrategy) WarningsOnUpdate(_ context.Context, obj, _ runtime.Object) []string {
	if s.part.Warnings == nil {
		return nil
	}
	return s.part.Warnings(obj.(Object))
}

func (s StatusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set { return s.reset }
