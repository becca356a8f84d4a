package authorization

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var specPath = field.NewPath("spec")

// validateOne requires exactly one of r and path.
func validateOne(r *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) field.ErrorList {
	if (r == nil) != (path == nil) {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath, builtin.Quote(path),
		"exactly one of nonResourceAttributes or resourceAttributes must be specified")}
}

func validateResource(r *authorizationv1.ResourceAttributes) (errs field.ErrorList) {
	if r == nil {
		return nil
	}
	at := specPath.Child("resourceAttributes")
	if s := r.FieldSelector; s != nil {
		at := at.Child("fieldSelector")
		errs = append(errs, validateSelector(at, s.RawSelector, len(s.Requirements))...)
		for i, requirement := range s.Requirements {
			errs = append(errs, metav1validation.ValidateFieldSelectorRequirement(requirement,
				metav1validation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true},
				at.Child("requirements").Index(i))...)
		}
	}
	if s := r.LabelSelector; s != nil {
		at := at.Child("labelSelector")
		errs = append(errs, validateSelector(at, s.RawSelector, len(s.Requirements))...)
		for i, requirement := range s.Requirements {
			errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(requirement,
				metav1validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true},
				at.Child("requirements").Index(i))...)
		}
	}
	return errs
}

func validateSelector(at *field.Path, raw string, requirements int) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(at.Child("rawSelector"), raw, "may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(at.Child("requirements"),
			fmt.Sprintf("when %s is specified, requirements or rawSelector is required", at))}
	}
	return nil
}

// ValidateSpec checks the question of a SubjectAccessReview.
func ValidateSpec(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := validateOne(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(specPath.Child("user"), spec.User, "at least one of user or group must be specified"))
	}
	return append(errs, validateResource(spec.ResourceAttributes)...)
}

// validateMetadata requires empty metadata. Managed fields are exempt: the server itself adds them.
func validateMetadata(m metav1.ObjectMeta, complaint string) field.ErrorList {
	without := m
	without.ManagedFields = nil
	if apiequality.Semantic.DeepEqual(metav1.ObjectMeta{}, without) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), m, complaint)}
}

func validateLocal(r *authorizationv1.LocalSubjectAccessReview) field.ErrorList {
	errs := ValidateSpec(&r.Spec)
	m := r.ObjectMeta
	m.Namespace = ""
	if len(validateMetadata(m, "")) > 0 {
		errs = append(errs, field.Invalid(field.NewPath("metadata"), r.ObjectMeta, "must be empty except for namespace"))
	}
	if a := r.Spec.ResourceAttributes; a != nil && a.Namespace != r.Namespace {
		errs = append(errs, field.Invalid(specPath.Child("resourceAttributes", "namespace"), a.Namespace, "must match metadata.namespace"))
	}
	if a := r.Spec.NonResourceAttributes; a != nil {
		errs = append(errs, field.Invalid(specPath.Child("nonResourceAttributes"), builtin.Quote(a), "disallowed on this kind of request"))
	}
	return errs
}
