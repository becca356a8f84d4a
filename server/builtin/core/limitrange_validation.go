package core

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

func validateLimitRange(l *corev1.LimitRange) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&l.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	seen := sets.New[corev1.LimitType]()
	for i := range l.Spec.Limits {
		limit, path := &l.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		errs = append(errs, validateLimitRangeType(limit.Type, path.Child("type"))...)
		if seen.Has(limit.Type) {
			errs = append(errs, field.Duplicate(path.Child("type"), limit.Type))
		}
		seen.Insert(limit.Type)
		errs = append(errs, validateNames(limit, path)...)
		errs = append(errs, validateLimitRangeAmounts(limit, path)...)
	}
	return errs
}

var limitTypes = []corev1.LimitType{corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim}

func validateLimitRangeType(limitType corev1.LimitType, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsQualifiedName(string(limitType)) {
		errs = append(errs, field.Invalid(path, limitType, message))
	}
	if len(errs) == 0 && !strings.Contains(string(limitType), "/") && !slices.Contains(limitTypes, limitType) {
		errs = append(errs, field.Invalid(path, limitType, "must be a standard limit type or fully qualified"))
	}
	return errs
}

// validateNames checks the names of a limit's resources, and which lists a limit of its type may have.
func validateNames(limit *corev1.LimitRangeItem, path *field.Path) field.ErrorList {
	validateName := podspec.ValidateResourceName
	if limit.Type == corev1.LimitTypePod || limit.Type == corev1.LimitTypeContainer {
		validateName = podspec.ValidateContainerResource
	}
	var errs field.ErrorList
	check := func(name string, list corev1.ResourceList) {
		for _, resource := range podspec.ResourceNames(list) {
			errs = append(errs, validateName(resource, path.Child(name).Key(string(resource)))...)
		}
	}
	check("max", limit.Max)
	check("min", limit.Min)
	if limit.Type == corev1.LimitTypePod {
		const notForPods = "may not be specified when `type` is 'Pod'"
		if len(limit.Default) > 0 {
			errs = append(errs, field.Forbidden(path.Child("default"), notForPods))
		}
		if len(limit.DefaultRequest) > 0 {
			errs = append(errs, field.Forbidden(path.Child("defaultRequest"), notForPods))
		}
	} else {
		check("default", limit.Default)
		check("defaultRequest", limit.DefaultRequest)
	}
	if limit.Type == corev1.LimitTypePersistentVolumeClaim {
		_, least := limit.Min[corev1.ResourceStorage]
		_, most := limit.Max[corev1.ResourceStorage]
		if !least && !most {
			errs = append(errs,
				field.Required(path.Child("limits"), "either minimum or maximum storage value is required, but neither was provided"))
		}
	}
	check("maxLimitRequestRatio", limit.MaxLimitRequestRatio)
	return errs
}

// limitBounds holds the amounts of one resource in the lists of a limit, nil for a list without it.
type limitBounds struct {
	min, max, limit, request, ratio *resource.Quantity
}

// validateLimitRangeAmounts compares the lists of a limit with each other. Pods have no defaults.
func validateLimitRangeAmounts(limit *corev1.LimitRangeItem, path *field.Path) field.ErrorList {
	lists := []corev1.ResourceList{limit.Max, limit.Min, limit.Default, limit.DefaultRequest, limit.MaxLimitRequestRatio}
	if limit.Type == corev1.LimitTypePod {
		lists[2], lists[3] = nil, nil
	}
	all := sets.New[corev1.ResourceName]()
	for _, list := range lists {
		all.Insert(podspec.ResourceNames(list)...)
	}
	var errs field.ErrorList
	for _, name := range sets.List(all) {
		b := limitBounds{find(lists[1], name), find(lists[0], name), find(lists[2], name), find(lists[3], name), find(lists[4], name)}
		at := func(list string) *field.Path { return path.Child(list).Key(string(name)) }
		errs = append(errs, b.validateOrder(at)...)
		errs = append(errs, b.validateRatio(at("maxLimitRequestRatio"))...)
		if !podspec.IsOvercommitAllowed(name) && b.limit != nil && b.request != nil && b.limit.Cmp(*b.request) != 0 {
			errs = append(errs,
				field.Invalid(at("defaultRequest"), *b.request,
					fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", b.limit, b.request, name)))
		}
	}
	return errs
}

func find(list corev1.ResourceList, name corev1.ResourceName) *resource.Quantity {
	if quantity, ok := list[name]; ok {
		return &quantity
	}
	return nil
}

// validateOrder requires minimum ≤ default request ≤ default ≤ maximum.
func (b limitBounds) validateOrder(at func(list string) *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, pair := range []struct {
		small, large *resource.Quantity
		list         string
		value        *resource.Quantity
		message      string
	}{
		{b.min, b.max, "min", b.min, "min value %s is greater than max value %s"},
		{b.min, b.request, "defaultRequest", b.request, "min value %s is greater than default request value %s"},
		{b.request, b.max, "defaultRequest", b.request, "default request value %s is greater than max value %s"},
		{b.request, b.limit, "defaultRequest", b.request, "default request value %s is greater than default limit value %s"},
		{b.min, b.limit, "default", b.min, "min value %s is greater than default value %s"},
		{b.limit, b.max, "default", b.max, "default value %s is greater than max value %s"},
	} {
		if pair.small != nil && pair.large != nil && pair.small.Cmp(*pair.large) > 0 {
			errs = append(errs, field.Invalid(at(pair.list), *pair.value, fmt.Sprintf(pair.message, pair.small, pair.large)))
		}
	}
	return errs
}

// validateRatio requires a ratio between 1 and maximum / minimum.
func (b limitBounds) validateRatio(path *field.Path) field.ErrorList {
	if b.ratio == nil {
		return nil
	}
	var errs field.ErrorList
	if b.ratio.Cmp(*resource.NewQuantity(1, resource.DecimalSI)) < 0 {
		errs = append(errs, field.Invalid(path, *b.ratio, fmt.Sprintf("ratio %s is less than 1", b.ratio)))
	}
	if b.min == nil || b.max == nil {
		return errs
	}
	ratio, least, most := float64(b.ratio.Value()), b.min.Value(), b.max.Value()
	if b.ratio.Value() < resource.MaxMilliValue && least < resource.MaxMilliValue && most < resource.MaxMilliValue {
		ratio, least, most = float64(b.ratio.MilliValue())/1000, b.min.MilliValue(), b.max.MilliValue()
	}
	if limit := float64(most) / float64(least); ratio > limit {
		errs = append(errs, field.Invalid(path, *b.ratio, fmt.Sprintf("ratio %s is greater than max/min = %f", b.ratio, limit)))
	}
	return errs
}
