package resource

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// validateDriver requires the name of a driver: a domain, in upper or lower case.
func validateDriver(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > resourcev1.DriverNameMaxLength {
		errs = append(errs, field.TooLong(path, name, resourcev1.DriverNameMaxLength))
	}
	return append(errs, builtin.Invalids(path, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))...)
}

// validatePool requires the name of a pool: domains with slashes between them.
func validatePool(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > resourcev1.PoolNameMaxLength {
		errs = append(errs, field.TooLong(path, name, resourcev1.PoolNameMaxLength))
	}
	for part := range strings.SplitSeq(name, "/") {
		errs = append(errs, builtin.Invalids(path, part, validation.IsDNS1123Subdomain(part))...)
	}
	return errs
}

// ValidateDeviceName requires the name of a device.
func ValidateDeviceName(name string, path *field.Path) field.ErrorList {
	return builtin.Invalids(path, name, validation.IsDNS1123Label(name))
}

// validateTaint checks the key and the value of a taint.
func validateTaint(taint *resourcev1.DeviceTaint, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabelName(taint.Key, path.Child("key"))
	return append(errs, builtin.Invalids(path.Child("value"), taint.Value, validation.IsValidLabelValue(taint.Value))...)
}
