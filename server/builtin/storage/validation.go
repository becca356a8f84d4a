package storage

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxParameters     = 512
	maxParametersSize = 256 << 10
	maxDriverName     = 63
)

// ValidateProvisioner checks the name of a provisioner, which messages show in lower case. Callers report a missing name.
func ValidateProvisioner(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return nil
	}
	name = strings.ToLower(name)
	for _, msg := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	return errs
}

// ValidateParameters checks the parameters of a provisioner.
func ValidateParameters(params map[string]string, allowEmpty bool, path *field.Path) (errs field.ErrorList) {
	if len(params) > maxParameters {
		return field.ErrorList{field.TooLong(path, "", maxParameters)}
	}
	size := 0
	for k, v := range params {
		if k == "" {
			errs = append(errs, field.Invalid(path, k, "field can not be empty."))
		}
		size += len(k) + len(v)
	}
	if size > maxParametersSize {
		errs = append(errs, field.TooLong(path, "", maxParametersSize))
	}
	if !allowEmpty && len(params) == 0 {
		errs = append(errs, field.Required(path, "must contain at least one key/value pair"))
	}
	return errs
}

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
