package customresource

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/schema"
)

// strategy controls how objects of one version are created, updated and deleted.
type strategy struct {
	typer
	rest.NameGenerator

	kind       apischema.GroupVersionKind
	namespaced bool
	schema     *schema.Schema
	// hasStatus means that status is written only through its subresource.
	hasStatus  bool
	scale      *v1.CustomResourceSubresourceScale
	selectable []selectableField
}

var (
	_ rest.RESTCreateUpdateStrategy = &strategy{}
	_ rest.RESTDeleteStrategy       = &strategy{}
	_ rest.ResetFieldsStrategy      = &strategy{}
)

func (s *strategy) NamespaceScoped() bool        { return s.namespaced }
func (*strategy) AllowCreateOnUpdate() bool      { return false }
func (*strategy) AllowUnconditionalUpdate() bool { return false }
func (*strategy) Canonicalize(runtime.Object)    {}

func (s *strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if !s.hasStatus {
		return nil
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.kind.GroupVersion().String()): fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

// PrepareForCreate drops the status if only its subresource may write it.
func (s *strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	u := obj.(*unstructured.Unstructured)
	if s.hasStatus {
		delete(u.Object, "status")
	}
	u.SetGeneration(1)
}

// PrepareForUpdate restores the status, and increments the generation if anything but metadata changes.
func (s *strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	u, was := obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured)
	if s.hasStatus {
		if status, ok := was.Object["status"]; ok {
			u.Object["status"] = status
		} else {
			delete(u.Object, "status")
		}
	}
	if !equalButMetadata(u.Object, was.Object) {
		u.SetGeneration(was.GetGeneration() + 1)
	}
}

// equalButMetadata compares the parts of two objects that a generation counts.
func equalButMetadata(a, b map[string]any) bool {
	compared := 0
	for name, value := range a {
		if name == "metadata" {
			continue
		}
		other, ok := b[name]
		if !ok || !equality.Semantic.DeepEqual(value, other) {
			return false
		}
		compared++
	}
	if _, ok := b["metadata"]; ok {
		compared++
	}
	return compared == len(b)
}

// Validate checks a new object.
func (s *strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return notUnstructured(obj)
	}
	return s.schema.Validate(ctx, u.Object, schema.ExtraErrors{
		Metadata: validateObjectMeta(ctx, u, s.namespaced),
		Scale:    append(validateScaleSpec(u, s.scale), validateScaleStatus(u, s.scale)...),
	})
}

// ValidateUpdate checks a change.
func (s *strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	u, was, errs := unstructuredPair(obj, old)
	if errs != nil {
		return errs
	}
	return s.schema.ValidateUpdate(ctx, u.Object, was.Object, schema.ExtraErrors{
		Metadata: validateObjectMetaUpdate(ctx, u, was, s.namespaced),
		Scale:    append(validateScaleSpec(u, s.scale), validateScaleStatus(u, s.scale)...),
	})
}

// unstructuredPair returns an object and its old state as unstructured objects.
func unstructuredPair(obj, old runtime.Object) (u, was *unstructured.Unstructured, errs field.ErrorList) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, nil, notUnstructured(obj)
	}
	if was, ok = old.(*unstructured.Unstructured); !ok {
		return nil, nil, notUnstructured(old)
	}
	return u, was, nil
}

func notUnstructured(obj runtime.Object) field.ErrorList {
	return field.ErrorList{field.Invalid(field.NewPath(""), obj,
		fmt.Sprintf("has type %T. Must be a pointer to an Unstructured type", obj))}
}

// WarningsOnCreate warns of finalizers with unusual names.
func (s *strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return finalizerWarnings(obj.(*unstructured.Unstructured).GetFinalizers(), nil)
}

// WarningsOnUpdate warns of new finalizers with unusual names.
func (s *strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	return finalizerWarnings(obj.(*unstructured.Unstructured).GetFinalizers(), old.(*unstructured.Unstructured).GetFinalizers())
}

// GetAttrs returns the labels and fields of an object for selectors.
func (s *strategy) GetAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, nil, fmt.Errorf("unexpected error casting a custom resource to unstructured: it is a %T", obj)
	}
	set := make(fields.Set, 2+len(s.selectable))
	set["metadata.name"] = u.GetName()
	if s.namespaced {
		set["metadata.namespace"] = u.GetNamespace()
	}
	for i := range s.selectable {
		value, err := s.selectable[i].value(u.Object)
		if err != nil {
			return nil, nil, err
		}
		set[s.selectable[i].name] = value
	}
	return u.GetLabels(), set, nil
}

// statusStrategy controls updates through the status subresource.
type statusStrategy struct{ *strategy }

var _ rest.RESTUpdateStrategy = statusStrategy{}

func (s statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.kind.GroupVersion().String()): fieldpath.NewSet(
			fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"),
		),
	}
}

// PrepareForUpdate restores everything but the status and the managedFields.
func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	u := obj.(*unstructured.Unstructured)
	status, hasStatus := u.Object["status"]
	managers := u.GetManagedFields()
	// Among the rest is the resourceVersion, which is the same in both by now.
	u.Object = old.(*unstructured.Unstructured).DeepCopy().Object
	u.SetManagedFields(managers)
	if hasStatus {
		u.Object["status"] = status
	} else {
		delete(u.Object, "status")
	}
}

// ValidateUpdate checks a change of the status.
func (s statusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	u, was, errs := unstructuredPair(obj, old)
	if errs != nil {
		return errs
	}
	return s.schema.ValidateStatusUpdate(ctx, u.Object, was.Object, schema.ExtraErrors{
		Metadata: validateObjectMetaUpdate(ctx, u, was, s.namespaced),
		Scale:    validateScaleStatus(u, s.scale),
	})
}

// WarningsOnUpdate returns none: the status has no finalizers.
func (statusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// finalizerWarnings returns warnings about new finalizers, sorted by name.
func finalizerWarnings(finalizers, before []string) []string {
	var warnings []string
	added := slices.Clone(finalizers)
	slices.Sort(added)
	known := sets.New(before...)
	for _, name := range slices.Compact(added) {
		if !known.Has(name) {
			warnings = append(warnings, finalizerWarning(name)...)
		}
	}
	return warnings
}
