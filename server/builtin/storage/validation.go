package storage

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxParameters     = 512
	maxParametersSize = 256 << 10
)

// validateProvisioner checks the name of a provisioner. Messages show it in lower case. Callers report a missing
// name.
func validateProvisioner(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return nil
	}
	name = strings.ToLower(name)
	for _, msg := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	return errs
}

// validateParameters checks the parameters of a provisioner.
func validateParameters(params map[string]string, allowEmpty bool, path *field.Path) (errs field.ErrorList) {
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
