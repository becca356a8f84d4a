package autoscaling

import (
	"errors"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

const (
	maxPeriodSeconds = 1800
	maxWindowSeconds = 3600
)

var (
	specPath   = field.NewPath("spec")
	statusPath = field.NewPath("status")
)

// references holds the allowed forms of the apiVersion of a reference.
type references struct{ noGroup, anything bool }

// tolerance limits the references of an autoscaler: to its target, and to the objects of metrics.
type tolerance struct{ target, objects references }

func validateAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&h.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateSpec(&h.Spec, toleranceOf(h, nil))...)
}

func validateUpdate(h, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&h.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateSpec(&h.Spec, toleranceOf(h, old))...)
}

// toleranceOf lets an update keep the references of the stored object: older servers did not check them. For a new
// object, old is nil.
func toleranceOf(h, old *autoscalingv2.HorizontalPodAutoscaler) tolerance {
	t := tolerance{objects: references{noGroup: true}}
	target := h.Spec.ScaleTargetRef
	// The core group has one scalable resource: replication controllers.
	t.target.noGroup = target.Kind == "ReplicationController"
	if old == nil {
		return t
	}
	t.target.anything = old.Spec.ScaleTargetRef.APIVersion == target.APIVersion && old.Spec.ScaleTargetRef.Kind == target.Kind
	t.objects.anything = slices.ContainsFunc(old.Spec.Metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil &&
			checkVersion(m.Object.DescribedObject.APIVersion, t.objects) != nil
	})
	return t
}

func validateSpec(spec *autoscalingv2.HorizontalPodAutoscalerSpec, allowed tolerance) field.ErrorList {
	var errs field.ErrorList
	if spec.MinReplicas != nil && spec.MaxReplicas < *spec.MinReplicas {
		errs = append(errs,
			field.Invalid(specPath.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	errs = append(errs, validateReference(spec.ScaleTargetRef, specPath.Child("scaleTargetRef"), allowed.target)...)
	errs = append(errs, validateMetrics(spec, specPath.Child("metrics"), allowed.objects)...)
	if b := spec.Behavior; b != nil {
		path := specPath.Child("behavior")
		errs = append(errs, validateRules(b.ScaleUp, path.Child("scaleUp"))...)
		errs = append(errs, validateRules(b.ScaleDown, path.Child("scaleDown"))...)
	}
	return append(errs, validateCounts(spec)...)
}

// validateCounts comes last: a kube-apiserver generates these two rules from the types, and appends their errors.
func validateCounts(spec *autoscalingv2.HorizontalPodAutoscalerSpec) field.ErrorList {
	var errs field.ErrorList
	if spec.MinReplicas != nil && *spec.MinReplicas < 0 {
		errs = append(errs, field.Invalid(specPath.Child("minReplicas"), *spec.MinReplicas, "must be greater than or equal to 0"))
	}
	most := specPath.Child("maxReplicas")
	switch {
	case spec.MaxReplicas == 0:
		errs = append(errs, field.Required(most, ""))
	case spec.MaxReplicas < 0:
		errs = append(errs, field.Invalid(most, spec.MaxReplicas, "must be greater than or equal to 1"))
	}
	return errs
}

func validateReference(ref autoscalingv2.CrossVersionObjectReference, path *field.Path, allowed references) field.ErrorList {
	errs := validateSegment(ref.Kind, "", path.Child("kind"))
	errs = append(errs, validateSegment(ref.Name, "", path.Child("name"))...)
	if err := checkVersion(ref.APIVersion, allowed); err != nil {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), ref.APIVersion, err.Error()))
	}
	return errs
}

// validateSegment requires a valid segment of a URL's path. The message is for a missing value.
func validateSegment(value, message string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, message)}
	}
	var errs field.ErrorList
	for _, message := range content.IsPathSegmentName(value) {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

func checkVersion(apiVersion string, allowed references) error {
	if allowed.anything {
		return nil
	}
	version, err := schema.ParseGroupVersion(apiVersion)
	if err == nil && version.Group == "" && !allowed.noGroup {
		return errors.New("apiVersion must specify API group")
	}
	return err
}

func validateRules(rules *autoscalingv2.HPAScalingRules, path *field.Path) field.ErrorList {
	if rules == nil {
		return nil
	}
	var errs field.ErrorList
	window := path.Child("stabilizationWindowSeconds")
	switch seconds := ptr.Deref(rules.StabilizationWindowSeconds, 0); {
	case seconds < 0:
		errs = append(errs, field.Invalid(window, seconds, "must be greater than or equal to zero"))
	case seconds > maxWindowSeconds:
		errs = append(errs, field.Invalid(window, seconds, fmt.Sprintf("must be less than or equal to %d", maxWindowSeconds)))
	}
	known := []autoscalingv2.ScalingPolicySelect{
		autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect}
	if rules.SelectPolicy != nil && !slices.Contains(known, *rules.SelectPolicy) {
		errs = append(errs, field.NotSupported(path.Child("selectPolicy"), *rules.SelectPolicy, known))
	}
	policies := path.Child("policies")
	if len(rules.Policies) == 0 {
		errs = append(errs, field.Required(policies, "must specify at least one Policy"))
	}
	for i, policy := range rules.Policies {
		errs = append(errs, validatePolicy(policy, policies.Index(i))...)
	}
	if rules.Tolerance != nil && rules.Tolerance.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("tolerance"), rules.Tolerance.String(), apivalidation.IsNegativeErrorMsg))
	}
	return errs
}

func validatePolicy(policy autoscalingv2.HPAScalingPolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := []autoscalingv2.HPAScalingPolicyType{autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy}
	if !slices.Contains(known, policy.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), policy.Type, known))
	}
	if policy.Value <= 0 {
		errs = append(errs, field.Invalid(path.Child("value"), policy.Value, "must be greater than zero"))
	}
	period := path.Child("periodSeconds")
	switch {
	case policy.PeriodSeconds <= 0:
		errs = append(errs, field.Invalid(period, policy.PeriodSeconds, "must be greater than zero"))
	case policy.PeriodSeconds > maxPeriodSeconds:
		errs = append(errs, field.Invalid(period, policy.PeriodSeconds, fmt.Sprintf("must be less than or equal to %d", maxPeriodSeconds)))
	}
	return errs
}

func validateStatusUpdate(h, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&h.ObjectMeta, &old.ObjectMeta)
	for i, c := range h.Status.Conditions {
		errs = append(errs,
			apivalidation.ValidateNonnegativeField(ptr.Deref(c.ObservedGeneration, 0),
				statusPath.Child("conditions").Index(i).Child("observedGeneration"))...)
	}
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(h.Status.CurrentReplicas), statusPath.Child("currentReplicas"))...)
	return append(errs, apivalidation.ValidateNonnegativeField(int64(h.Status.DesiredReplicas), statusPath.Child("desiredReplicas"))...)
}
