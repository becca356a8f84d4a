package networking

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// validateReference checks a reference to an object by its group, kind and name.
func validateReference(group *string, kind, name string, path *field.Path) (errs field.ErrorList) {
	if group != nil {
		errs = append(errs, builtin.Invalids(path.Child("apiGroup"), *group, validation.IsDNS1123Subdomain(*group))...)
	}
	errs = append(errs, validateSegment(kind, path.Child("kind"))...)
	return append(errs, validateSegment(name, path.Child("name"))...)
}

// validateSegment requires a valid segment of a path.
func validateSegment(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return builtin.Invalids(path, value, content.IsPathSegmentName(value))
}

// markDeclared marks errors about missing values as errors of declared rules.
func markDeclared(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		if err.Type == field.ErrorTypeRequired {
			err.CoveredByDeclarative = true
		}
	}
	return errs
}
