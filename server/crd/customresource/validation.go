package customresource

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/kx-apiserver/kx/core/object"
)

var metadataPath = field.NewPath("metadata")

// validateObjectMeta checks the metadata of a new object.
func validateObjectMeta(ctx context.Context, u *unstructured.Unstructured, namespaced bool) field.ErrorList {
	m, errs := objectMeta(u)
	if len(errs) > 0 {
		return errs
	}
	return validation.ValidateObjectMetaDeclaratively(ctx, operation.Create, m, nil, namespaced, validation.NameIsDNSSubdomain,
		metadataPath, declarative())
}

// validateObjectMetaUpdate checks a change of metadata. Names don't change, so they need no rule.
func validateObjectMetaUpdate(ctx context.Context, u, old *unstructured.Unstructured, namespaced bool) field.ErrorList {
	m, errs := objectMeta(u)
	if len(errs) > 0 {
		return errs
	}
	was, errs := objectMeta(old)
	if len(errs) > 0 {
		return errs
	}
	return validation.ValidateObjectMetaDeclaratively(ctx, operation.Update, m, was, namespaced, nil, metadataPath, declarative())
}

// declarative reports whether declarative validation is enabled, as it is by default in Kubernetes.
func declarative() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.DeclarativeValidationBeta)
}

func objectMeta(u *unstructured.Unstructured) (*metav1.ObjectMeta, field.ErrorList) {
	m := &metav1.ObjectMeta{}
	raw := u.Object["metadata"]
	if raw == nil {
		return m, nil
	}
	content, ok := raw.(map[string]any)
	if !ok {
		return nil, field.ErrorList{field.Invalid(metadataPath, raw, fmt.Sprintf("expected map[string]interface{}, got %T", raw))}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.WithoutFieldSets(content), m); err != nil {
		return nil, field.ErrorList{field.Invalid(metadataPath, raw, err.Error())}
	}
	return m, nil
}

// validateScaleSpec checks the wanted number of replicas, at the path from the CRD.
func validateScaleSpec(u *unstructured.Unstructured, scale *apiextensionsv1.CustomResourceSubresourceScale) field.ErrorList {
	if scale == nil {
		return nil
	}
	return validateReplicas(u, scale.SpecReplicasPath)
}

// validateScaleStatus checks the actual number of replicas, and their selector.
func validateScaleStatus(u *unstructured.Unstructured, scale *apiextensionsv1.CustomResourceSubresourceScale) field.ErrorList {
	if scale == nil {
		return nil
	}
	errs := validateReplicas(u, scale.StatusReplicasPath)
	if path := scale.LabelSelectorPath; path != nil {
		if selector, _, err := unstructured.NestedString(u.Object, splitPath(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}

func validateReplicas(u *unstructured.Unstructured, path string) field.ErrorList {
	invalid := func(value any, detail string) field.ErrorList {
		return field.ErrorList{field.Invalid(field.NewPath(path), value, detail)}
	}
	replicas, _, err := unstructured.NestedInt64(u.Object, splitPath(path)...)
	switch {
	case err != nil:
		return invalid(replicas, err.Error())
	case replicas < 0:
		return invalid(replicas, "should be a non-negative integer")
	case replicas > math.MaxInt32:
		return invalid(replicas, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))
	}
	return nil
}

// splitPath splits a path such as ".spec.replicas" into names.
func splitPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

var standardFinalizers = []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, string(corev1.FinalizerKubernetes)}

// finalizerWarning warns about an unusual name of a finalizer. It is not refused, since it was allowed earlier.
func finalizerWarning(name string) []string {
	var warnings []string
	warn := func(text string) {
		warnings = append(warnings, fmt.Sprintf("%s: %q: %s", metadataPath.Child("finalizers"), name, text))
	}
	for _, msg := range utilvalidation.IsQualifiedName(name) {
		warn(msg)
	}
	switch {
	case strings.Contains(name, "/"), slices.Contains(standardFinalizers, name):
	case strings.Contains(name, "."):
		warn("prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers")
	default:
		warn("prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers")
	}
	return warnings
}
