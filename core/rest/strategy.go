package rest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NameGenerator makes a name from generateName.
type NameGenerator interface {
	GenerateName(base string) string
}

// RESTCreateStrategy is a resource's part in a create. The calls come in this order: PrepareForCreate, Validate,
// WarningsOnCreate, Canonicalize.
type RESTCreateStrategy interface {
	runtime.ObjectTyper
	NameGenerator
	NamespaceScoped() bool
	// PrepareForCreate clears what clients may not set, such as status, before validation.
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	// Validate returns the errors of a 422. The object's metadata has been validated already.
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
	// WarningsOnCreate are sent to the client as Warning headers.
	WarningsOnCreate(ctx context.Context, obj runtime.Object) []string
	// Canonicalize normalizes a valid object before it is stored.
	Canonicalize(obj runtime.Object)
}

// RESTUpdateStrategy is a resource's part in an update. The calls come in this order: PrepareForUpdate, ValidateUpdate,
// WarningsOnUpdate, Canonicalize.
type RESTUpdateStrategy interface {
	runtime.ObjectTyper
	NamespaceScoped() bool
	// AllowCreateOnUpdate says whether PUT may create.
	AllowCreateOnUpdate() bool
	// PrepareForUpdate restores what this update may not change, and moves the generation.
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string
	Canonicalize(obj runtime.Object)
	// AllowUnconditionalUpdate says whether PUT may come without a resourceVersion.
	AllowUnconditionalUpdate() bool
}

// RESTCreateUpdateStrategy has both.
type RESTCreateUpdateStrategy interface {
	RESTCreateStrategy
	AllowCreateOnUpdate() bool
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string
	AllowUnconditionalUpdate() bool
}

// RESTDeleteStrategy is a resource's part in a delete. It may also be one of the two interfaces below.
type RESTDeleteStrategy interface {
	runtime.ObjectTyper
}

// RESTGracefulDeleteStrategy lets objects live on for a grace period.
type RESTGracefulDeleteStrategy interface {
	// CheckGracefulDelete says whether obj is to be deleted gracefully, and may set the grace period in options. It
	// must not change obj.
	CheckGracefulDelete(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool
}

// GarbageCollectionPolicy says what happens to an object's dependents when a client does not say.
type GarbageCollectionPolicy string

const (
	DeleteDependents GarbageCollectionPolicy = "DeleteDependents"
	OrphanDependents GarbageCollectionPolicy = "OrphanDependents"
	Unsupported      GarbageCollectionPolicy = "Unsupported"
)

// GarbageCollectionDeleteStrategy gives a resource another policy than DeleteDependents.
type GarbageCollectionDeleteStrategy interface {
	DefaultGarbageCollectionPolicy(ctx context.Context) GarbageCollectionPolicy
}

// DeclaringStrategy is a strategy that knows whether its types declare rules beside those that Validate and
// ValidateUpdate write out. It marks the errors of declared rules as covered by declarative validation.
type DeclaringStrategy interface {
	// DeclaresRules is true of all built-in resources of Kubernetes but API services.
	DeclaresRules() bool
}
