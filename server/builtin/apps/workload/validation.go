package workload

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// ValidateSelectorAndTemplate requires a selector that is not empty and selects the pods made from the template. The
// message about an empty one names deployments, for replica sets too.
func ValidateSelectorAndTemplate(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, path *field.Path,
	opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("selector")
	if selector == nil {
		errs = append(errs, field.Required(at, ""))
	} else {
		errs = append(errs, metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, at)...)
		if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(at, selector, "empty selector is invalid for deployment"))
		}
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return append(errs, field.Invalid(at, selector, "invalid label selector"))
	}
	return append(errs, ValidateTemplate(template, parsed, "ReplicaSet", path.Child("template"), opts)...)
}

// ValidateTemplate requires that the selector matches the template's pods, and that the pods run until they are
// deleted. The messages name kind.
func ValidateTemplate(template *corev1.PodTemplateSpec, selector labels.Selector, kind string, path *field.Path,
	opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	if !selector.Empty() && !selector.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
	}
	errs = append(errs, podspec.ValidatePodTemplateSpec(template, path, opts)...)
	if policy := template.Spec.RestartPolicy; policy != corev1.RestartPolicyAlways {
		errs = append(errs,
			field.NotSupported(path.Child("spec", "restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs,
			field.Forbidden(path.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported"))
	}
	return errs
}

// Count is a number in a status.
type Count struct {
	Name  string
	Value int64
}

// ValidateCounts requires counts of 0 or more.
func ValidateCounts(counts []Count) field.ErrorList {
	var errs field.ErrorList
	for _, c := range counts {
		errs = append(errs, apivalidation.ValidateNonnegativeField(c.Value, field.NewPath("status").Child(c.Name))...)
	}
	return errs
}

// ValidateCollisions rejects a lower collision count: controllers make names from it.
func ValidateCollisions(now, was *int32) field.ErrorList {
	if was == nil || now != nil && *now >= *was {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("status", "collisionCount"), ptr.Deref(now, 0), "cannot be decremented")}
}
