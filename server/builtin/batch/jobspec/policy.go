package jobspec

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxRules            = 20
	maxExitCodes        = 255
	maxPatterns         = 20
	maxSucceededIndexes = 64 * 1024
)

// The values are sorted: messages list them.
var (
	actions = []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore}
	operators = []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn,
		batchv1.PodFailurePolicyOnExitCodesOpNotIn}
	statuses = []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
)

func validateFailurePolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	rules := spec.PodFailurePolicy.Rules
	path = path.Child("rules")
	var errs field.ErrorList
	if len(rules) > maxRules {
		errs = append(errs, field.TooMany(path, len(rules), maxRules))
	}
	containers := sets.New[string]()
	for _, list := range [][]corev1.Container{spec.Template.Spec.Containers, spec.Template.Spec.InitContainers} {
		for _, c := range list {
			containers.Insert(c.Name)
		}
	}
	for i, rule := range rules {
		at := path.Index(i)
		if rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil {
			errs = append(errs, field.Invalid(at.Child("action"), rule.Action, "requires the backoffLimitPerIndex to be set"))
		}
		errs = append(errs, requiredOneOf(at.Child("action"), rule.Action, actions)...)
		if rule.OnExitCodes != nil {
			errs = append(errs, validateExitCodes(rule.OnExitCodes, containers, at.Child("onExitCodes"))...)
		}
		errs = append(errs, validatePatterns(rule.OnPodConditions, at.Child("onPodConditions"))...)
		switch codes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0; {
		case codes && conditions:
			errs = append(errs,
				field.Invalid(at, field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported"))
		case !codes && !conditions:
			errs = append(errs, field.Invalid(at, field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required"))
		}
	}
	return errs
}

func validatePatterns(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(patterns) > maxPatterns {
		errs = append(errs, field.TooMany(path, len(patterns), maxPatterns))
	}
	for i, pattern := range patterns {
		at := path.Index(i)
		for _, message := range validation.IsQualifiedName(string(pattern.Type)) {
			errs = append(errs, field.Invalid(at.Child("type"), string(pattern.Type), message))
		}
		errs = append(errs, requiredOneOf(at.Child("status"), pattern.Status, statuses)...)
	}
	return errs
}

func validateExitCodes(codes *batchv1.PodFailurePolicyOnExitCodesRequirement, containers sets.Set[string],
	path *field.Path) field.ErrorList {
	errs := requiredOneOf(path.Child("operator"), codes.Operator, operators)
	if name := codes.ContainerName; name != nil && !containers.Has(*name) {
		errs = append(errs,
			field.Invalid(path.Child("containerName"), *name, "must be one of the container or initContainer names in the pod template"))
	}
	path = path.Child("values")
	if len(codes.Values) == 0 {
		errs = append(errs, field.Invalid(path, codes.Values, "at least one value is required"))
	} else if len(codes.Values) > maxExitCodes {
		errs = append(errs, field.TooMany(path, len(codes.Values), maxExitCodes))
	}
	seen := sets.New[int32]()
	for i, value := range codes.Values {
		if codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && value == 0 {
			errs = append(errs, field.Invalid(path.Index(i), value, "must not be 0 for the In operator"))
		}
		if seen.Has(value) {
			errs = append(errs, field.Duplicate(path.Index(i), value))
		}
		seen.Insert(value)
	}
	if !slices.IsSorted(codes.Values) {
		errs = append(errs, field.Invalid(path, codes.Values, "must be ordered"))
	}
	return errs
}

func validateSuccessPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	rules := spec.SuccessPolicy.Rules
	path = path.Child("rules")
	var errs field.ErrorList
	if len(rules) == 0 {
		errs = append(errs, field.Required(path, "at least one rules must be specified when the successPolicy is specified"))
	}
	if len(rules) > maxRules {
		errs = append(errs, field.TooMany(path, len(rules), maxRules))
	}
	if spec.Completions == nil {
		return errs // the check of the completion mode reports it
	}
	for i := range rules {
		errs = append(errs, validateSuccessRule(&rules[i], *spec.Completions, path.Index(i))...)
	}
	return errs
}

func validateSuccessRule(rule *batchv1.SuccessPolicyRule, completions int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	count, indexes := rule.SucceededCount, rule.SucceededIndexes
	if count == nil && indexes == nil {
		errs = append(errs, field.Required(path, "at least one of succeededCount or succeededIndexes must be specified"))
	}
	var total int32
	if indexes != nil {
		at := path.Child("succeededIndexes")
		if len(*indexes) > maxSucceededIndexes {
			errs = append(errs, field.TooLong(at, "", maxSucceededIndexes))
		}
		var err error
		if total, err = CountIndexes(*indexes, completions); err != nil {
			errs = append(errs, field.Invalid(at, *indexes, fmt.Sprintf("error parsing succeededIndexes: %s", err)))
		}
	}
	if count == nil {
		return errs
	}
	at := path.Child("succeededCount")
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*count), at)...)
	if *count > completions {
		errs = append(errs,
			field.Invalid(at, *count, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
	}
	if indexes != nil && *count > total {
		errs = append(errs, field.Invalid(at, *count,
			fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total)))
	}
	return errs
}

// requiredOneOf lists the allowed values if the value is missing.
func requiredOneOf[T ~string](path *field.Path, value T, values []T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q", values))}
	}
	return oneOf(path, value, values)
}

func oneOf[T ~string](path *field.Path, value T, values []T) field.ErrorList {
	if slices.Contains(values, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, values)}
}
