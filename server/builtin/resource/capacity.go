package resource

import (
	"fmt"
	"math"
	"strconv"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxValues limits the sizes that a policy lists.
const maxValues = 10

// validateCapacity checks the policy for dividing the capacity of a shared device.
func validateCapacity(c resourcev1.DeviceCapacity, shared bool, path *field.Path) field.ErrorList {
	policy, path := c.RequestPolicy, path.Child("requestPolicy")
	switch {
	case policy == nil:
		return nil
	case !shared:
		return field.ErrorList{field.Forbidden(path, "allowMultipleAllocations must be true")}
	case len(policy.ValidValues) > 0 && policy.ValidRange != nil:
		return field.ErrorList{field.Forbidden(path,
			`exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`)}
	case len(policy.ValidValues) > 0 && policy.Default == nil:
		return field.ErrorList{field.Required(path.Child("default"), "required when validValues is defined")}
	case len(policy.ValidValues) > 0:
		return validateValues(policy.ValidValues, *policy.Default, c.Value, path.Child("validValues"))
	case policy.ValidRange != nil && policy.Default == nil:
		return field.ErrorList{field.Required(path.Child("default"), "required when validRange is defined")}
	case policy.ValidRange != nil:
		return validateRange(policy.ValidRange, *policy.Default, c.Value, path.Child("validRange"))
	}
	return nil
}

func validateValues(values []resource.Quantity, usual, capacity resource.Quantity, path *field.Path) (errs field.ErrorList) {
	for i := 1; i < len(values); i++ {
		if values[i-1].Cmp(values[i]) > 0 {
			errs = append(errs, field.Invalid(path.Index(i), values[i].String(), "values must be sorted in ascending order"))
		}
	}
	known := false
	if most := maxValues; len(values) > most {
		errs = append(errs, field.TooMany(path, len(values), most))
	} else {
		for i, value := range values {
			if value.Cmp(capacity) > 0 {
				errs = append(errs,
					field.Invalid(path.Index(i), value.String(), "option is larger than capacity value: "+capacity.String()))
			}
			known = known || value.Cmp(usual) == 0
		}
		errs = append(errs, validateDistinct(values, path)...)
	}
	if !known {
		errs = append(errs, field.Invalid(path, usual.String(), "default value is not valid according to the requestPolicy"))
	}
	return errs
}

func validateDistinct(values []resource.Quantity, path *field.Path) (errs field.ErrorList) {
	seen := map[string]bool{}
	for i, value := range values {
		key := strconv.FormatInt(value.Value(), 10)
		if seen[key] {
			errs = append(errs, field.Duplicate(path.Index(i), key))
		}
		seen[key] = true
	}
	return errs
}

func validateRange(r *resourcev1.CapacityRequestPolicyRange, usual, capacity resource.Quantity, path *field.Path) (errs field.ErrorList) {
	if r.Min == nil {
		return field.ErrorList{field.Required(path.Child("min"), "required when validRange is defined")}
	}
	wrong := func(is bool, name string, value resource.Quantity, message string, other resource.Quantity) {
		if is {
			errs = append(errs, field.Invalid(path.Child(name), value.String(), message+other.String()))
		}
	}
	wrong(r.Min.Cmp(capacity) > 0, "min", *r.Min, "min is larger than capacity value: ", capacity)
	wrong(usual.Cmp(*r.Min) < 0, "default", usual, "default is less than min: ", *r.Min)
	if r.Max != nil {
		wrong(r.Min.Cmp(*r.Max) > 0, "max", *r.Min, "min is larger than max: ", *r.Max)
		wrong(r.Max.Cmp(capacity) > 0, "max", *r.Max, "max is larger than capacity value: ", capacity)
		wrong(usual.Cmp(*r.Max) > 0, "default", usual, "default is more than max: ", *r.Max)
	}
	if r.Step == nil {
		return errs
	}
	if r.Step.Sign() <= 0 {
		return append(errs, field.Invalid(path.Child("step"), r.Step.String(), "must be greater than zero"))
	}
	next := r.Min.DeepCopy()
	next.Add(*r.Step)
	wrong(next.Cmp(capacity) > 0, "step", *r.Step, "one step "+next.String()+" is larger than capacity value: ", capacity)
	if unsafe := validateIntegers([]part{{"default", &usual}, {"min", r.Min}, {"max", r.Max}, {"step", r.Step}}, path); len(unsafe) > 0 {
		return append(errs, unsafe...)
	}
	errs = append(errs, validateStep(usual, r, path)...)
	if r.Max != nil {
		errs = append(errs, validateStep(*r.Max, r, path)...)
	}
	return errs
}

type part struct {
	name  string
	value *resource.Quantity
}

// validateIntegers requires numbers that fit into an int64.
func validateIntegers(parts []part, path *field.Path) (errs field.ErrorList) {
	for _, p := range parts {
		switch {
		case p.value == nil:
		case p.value.Sign() < 0:
			errs = append(errs, field.Invalid(path.Child(p.name), p.value.String(), apivalidation.IsNegativeErrorMsg))
		case p.value.CmpInt64(math.MaxInt64) > 0:
			errs = append(errs,
				field.Invalid(path.Child(p.name), p.value.String(), fmt.Sprintf("must not be larger than %d", math.MaxInt64)))
		}
	}
	return errs
}

// validateStep requires a value that is a whole number of steps above the minimum. It rounds fractions up: fractional
// capacity is off by default.
func validateStep(value resource.Quantity, r *resourcev1.CapacityRequestPolicyRange, path *field.Path) field.ErrorList {
	if (value.Value()-r.Min.Value())%r.Step.Value() == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("step"), value.String(),
		fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step.String(), r.Min.String()))}
}
