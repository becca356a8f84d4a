package workload

import (
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateCountOrPercent requires a number of 0 or more, or a percentage.
func ValidateCountOrPercent(v *intstr.IntOrString, path *field.Path) field.ErrorList {
	if v.Type == intstr.Int {
		return apivalidation.ValidateNonnegativeField(int64(v.IntVal), path)
	}
	var errs field.ErrorList
	for _, message := range validation.IsValidPercent(v.StrVal) {
		errs = append(errs, field.Invalid(path, v, message))
	}
	return errs
}

// ValidateAtMost100Percent limits percentages only: it accepts every plain number.
func ValidateAtMost100Percent(v *intstr.IntOrString, path *field.Path) field.ErrorList {
	if n, percent := CountOrPercent(v); percent && n > 100 {
		return field.ErrorList{field.Invalid(path, v, "must not be greater than 100%")}
	}
	return nil
}

// CountOrPercent returns the number in v, and whether it is a percentage.
func CountOrPercent(v *intstr.IntOrString) (int, bool) {
	if v.Type == intstr.String && len(validation.IsValidPercent(v.StrVal)) == 0 {
		n, _ := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
		return n, true
	}
	return v.IntValue(), false
}
