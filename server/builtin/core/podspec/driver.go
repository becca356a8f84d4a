package podspec

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxDriverName = 63

// ValidateDriverName checks the name of a CSI driver.
func ValidateDriverName(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > maxDriverName {
		errs = append(errs, field.TooLong(path, "", maxDriverName))
	}
	for _, msg := range validation.IsDNS1123Subdomain(strings.ToLower(name)) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	return errs
}

// DeclaredDriver checks the name of a CSI driver by the rules that its type declares.
func DeclaredDriver(name *string, path *field.Path) field.ErrorList {
	ctx, op := context.Background(), operation.Operation{}
	if errs := validate.RequiredValue(ctx, op, path, name, nil); len(errs) > 0 {
		return errs.MarkCoveredByDeclarative()
	}
	//lint:ignore SA1019 Drivers may have names with upper case.
	errs := validate.LongNameCaseless(ctx, op, path, name, nil)
	return append(errs, validate.MaxLength(ctx, op, path, name, nil, maxDriverName)...).MarkCoveredByDeclarative()
}
