package podspec

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ResourceNames returns the names of a list, sorted.
func ResourceNames(list corev1.ResourceList) []corev1.ResourceName {
	return sets.List(sets.KeySet(list))
}

// RoundUpResources rounds all quantities of the lists up to thousandths, the smallest unit of a resource.
func RoundUpResources(lists ...corev1.ResourceList) {
	for _, list := range lists {
		for name, quantity := range list {
			if quantity.RoundUp(resource.Milli) {
				continue
			}
			list[name] = quantity
		}
	}
}

// FillInResources copies quantities from from to list, for names that list lacks.
func FillInResources(list, from corev1.ResourceList) {
	for name, quantity := range from {
		if _, ok := list[name]; !ok {
			list[name] = quantity.DeepCopy()
		}
	}
}

// ValidateAmount requires an amount that is not negative, and that is whole if the resource comes in whole units.
func ValidateAmount(name corev1.ResourceName, quantity resource.Quantity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if quantity.Sign() < 0 {
		errs = append(errs, field.Invalid(path, quantity.String(), apivalidation.IsNegativeErrorMsg))
	}
	if isWholeResource(name) && quantity.MilliValue()%1000 != 0 {
		errs = append(errs, field.Invalid(path, quantity, "must be an integer"))
	}
	return errs
}

// ValidateResourceName requires a standard name, or a name with a prefix.
func ValidateResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsQualifiedName(string(name)) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	if len(errs) == 0 && !prefixed(name) && !isStandardResource(name) {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource type or fully qualified"))
	}
	return errs
}

// ValidateContainerResource requires the name of a resource that a container can use.
func ValidateContainerResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := ValidateResourceName(name, path)
	ofContainers := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	switch {
	case !prefixed(name) && !slices.Contains(ofContainers, name) && !IsHugePageResource(name):
		errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
	case prefixed(name) && !IsNativeResource(name) && !IsExtendedResource(name):
		errs = append(errs, field.Invalid(path, name, "doesn't follow extended resource name standard"))
	}
	return errs
}

// ValidateQuotaResource requires the name of a resource that a quota can limit.
func ValidateQuotaResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := ValidateResourceName(name, path)
	if !prefixed(name) && !IsQuotaResource(name) {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource for quota"))
	}
	return errs
}

func prefixed(name corev1.ResourceName) bool { return strings.Contains(string(name), "/") }
