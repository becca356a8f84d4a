package registry

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
)

var metadataPath = field.NewPath("metadata")

var (
	fieldsInvalid = trace.Because("fields-invalid",
		"refused; field errors: {errors}",
		"拒绝，字段错误 {errors} 个")
	whyValid = trace.Because("valid", "valid, in the form that is stored", "校验通过（按存储的形式）")
)

// BeforeCreate prepares obj for storage and validates it. Its name and system fields are set already.
func BeforeCreate(ctx context.Context, strategy rest.RESTCreateStrategy, obj runtime.Object) (err error) {
	m, kind, err := objectMetaAndKind(strategy, obj)
	if err != nil {
		return err
	}
	ctx, step := trace.StartObject(ctx, trace.StoreBeforeCreate, kind.Kind+" "+m.GetName(), obj)
	defer step.End(&err)

	if !metav1.HasObjectMetaSystemFieldValues(m) {
		return apierrors.NewInternalError(errors.New("system metadata was not initialized"))
	}
	if m.GetGenerateName() != "" && m.GetName() == "" {
		return apierrors.NewInternalError(errors.New("metadata.name was not generated"))
	}
	if err := ensureNamespace(ctx, strategy.NamespaceScoped(), m); err != nil {
		return err
	}
	prepare(ctx, strategy, obj, func(ctx context.Context) { strategy.PrepareForCreate(ctx, obj) })
	if errs := validateCreate(ctx, strategy, obj, m); len(errs) > 0 {
		step.Why(fieldsInvalid, int64(len(errs)))
		return invalid(ctx, kind.GroupKind(), m.GetName(), errs)
	}
	warn(ctx, strategy.WarningsOnCreate(ctx, obj))
	strategy.Canonicalize(obj)

	step.Why(whyValid)
	step.After(obj)
	return nil
}

// prepare calls do, by which the strategy changes obj, as a step.
func prepare(ctx context.Context, strategy any, obj runtime.Object, do func(context.Context)) {
	ctx, step := trace.Start(ctx, trace.StorePrepare, strategyName(strategy))
	defer step.End(nil)
	step.Before(obj)
	do(ctx)
	step.After(obj)
}

// strategyName returns the strategy's own name if it has one, otherwise its Go type.
func strategyName(strategy any) string {
	if named, ok := strategy.(fmt.Stringer); ok {
		return named.String()
	}
	return reflect.TypeOf(strategy).String()
}

// validateCreate checks the metadata only if the strategy has no complaint, since the strategy's are more specific.
func validateCreate(ctx context.Context, strategy rest.RESTCreateStrategy, obj runtime.Object, m metav1.Object) field.ErrorList {
	if errs := strategy.Validate(ctx, obj); len(errs) > 0 {
		return arranged(strategy, errs)
	}
	return validation.ValidateObjectMetaAccessor(validated(m), strategy.NamespaceScoped(), validatePathSegment, metadataPath)
}

// BeforeUpdate prepares obj to replace old and validates it.
func BeforeUpdate(ctx context.Context, strategy rest.RESTUpdateStrategy, obj, old runtime.Object) (err error) {
	m, kind, err := objectMetaAndKind(strategy, obj)
	if err != nil {
		return err
	}
	oldMeta, err := meta.Accessor(old)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	ctx, step := trace.StartObject(ctx, trace.StoreBeforeUpdate, kind.Kind+" "+m.GetName(), obj)
	defer step.End(&err)

	if err := ensureNamespace(ctx, strategy.NamespaceScoped(), m); err != nil {
		return err
	}
	// Clients can't set the generation. The strategy moves it from the old value if the spec changed.
	m.SetGeneration(oldMeta.GetGeneration())
	prepare(ctx, strategy, obj, func(ctx context.Context) { strategy.PrepareForUpdate(ctx, obj, old) })
	keepSystemFields(m, oldMeta)
	if errs := validateUpdate(ctx, strategy, obj, old, m, oldMeta); len(errs) > 0 {
		step.Why(fieldsInvalid, int64(len(errs)))
		return invalid(ctx, kind.GroupKind(), m.GetName(), errs)
	}
	warn(ctx, strategy.WarningsOnUpdate(ctx, obj, old))
	strategy.Canonicalize(obj)

	step.Why(whyValid)
	step.After(obj)
	return nil
}

// keepSystemFields restores the fields that an update can't change. Validation refuses another UID or grace period;
// everything else is corrected silently, since clients send back old copies.
func keepSystemFields(m, old metav1.Object) {
	if m.GetUID() == "" {
		m.SetUID(old.GetUID())
	}
	if created := old.GetCreationTimestamp(); !created.IsZero() {
		m.SetCreationTimestamp(created)
	}
	if deleted := old.GetDeletionTimestamp(); !deleted.IsZero() {
		m.SetDeletionTimestamp(deleted)
	}
	if m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
}

func validateUpdate(ctx context.Context, strategy rest.RESTUpdateStrategy, obj, old runtime.Object, m,
	oldMeta metav1.Object) field.ErrorList {
	m, oldMeta = validated(m), validated(oldMeta)
	errs := validation.ValidateObjectMetaAccessor(m, strategy.NamespaceScoped(), validatePathSegment, metadataPath)
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(m, oldMeta, metadataPath)...)
	return arranged(strategy, append(errs, strategy.ValidateUpdate(ctx, obj, old)...))
}

// validated returns the part of metadata that validation looks at.
func validated(m metav1.Object) metav1.Object {
	u, ok := m.(*unstructured.Unstructured)
	if !ok {
		return m
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	return &unstructured.Unstructured{Object: map[string]any{"metadata": object.WithoutFieldSets(metadata)}}
}

// validatePathSegment is the rule for all names: each is one segment of a path.
func validatePathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// ensureNamespace gives the object the namespace of the request, or none, by its resource's scope.
func ensureNamespace(ctx context.Context, namespaceScoped bool, m metav1.Object) error {
	ns, ok := request.NamespaceFrom(ctx)
	if !ok {
		return apierrors.NewInternalError(errors.New("no namespace information found in request context"))
	}
	return rest.EnsureObjectNamespaceMatchesRequestNamespace(rest.ExpectedNamespaceForScope(ns, namespaceScoped), m)
}

func warn(ctx context.Context, warnings []string) {
	for _, w := range warnings {
		warning.AddWarning(ctx, "", w)
	}
}

func objectMetaAndKind(typer runtime.ObjectTyper, obj runtime.Object) (metav1.Object, schema.GroupVersionKind, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, schema.GroupVersionKind{}, apierrors.NewInternalError(err)
	}
	kinds, _, err := typer.ObjectKinds(obj)
	if err != nil {
		return nil, schema.GroupVersionKind{}, apierrors.NewInternalError(err)
	}
	return m, kinds[0], nil
}
