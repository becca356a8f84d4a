package networking

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ValidateReference checks a reference to an object by its group, kind and name.
func ValidateReference(group *string, kind, name string, path *field.Path) (errs field.ErrorList) {
	if group != nil {
		errs = append(errs, builtin.Invalids(path.Child("apiGroup"), *group, validation.IsDNS1123Subdomain(*group))...)
	}
	errs = append(errs, ValidateSegment(kind, path.Child("kind"))...)
	return append(errs, ValidateSegment(name, path.Child("name"))...)
}

// ValidateSegment requires a valid segment of a path.
func ValidateSegment(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return builtin.Invalids(path, value, content.IsPathSegmentName(value))
}

// Declared marks errors about missing values as errors of declared rules.
func Declared(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		if err.Type == field.ErrorTypeRequired {
			err.CoveredByDeclarative = true
		}
	}
	return errs
}
