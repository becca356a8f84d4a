package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var daemonSetSpecPath = field.NewPath("spec")

func validateDaemonSet(ds *appsv1.DaemonSet) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&ds.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateDaemonSetSpec(&ds.Spec, podspec.Options{})...)
}

func validateDaemonSetUpdate(ds, old *appsv1.DaemonSet) field.ErrorList {
	mistakes := podspec.MistakesIn(&old.Spec.Template.Spec, old.Spec.Template.Annotations)
	mistakes.SelectorValues = mistakes.SelectorValues || metav1validation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector)
	errs := builtin.ValidateObjectMetaUpdate(&ds.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, builtin.ValidateImmutable(ds.Spec.Selector, old.Spec.Selector, daemonSetSpecPath.Child("selector"))...)
	return append(errs, validateDaemonSetSpec(&ds.Spec, podspec.Options{Tolerated: mistakes})...)
}

func validateDaemonSetSpec(spec *appsv1.DaemonSetSpec, opts podspec.Options) field.ErrorList {
	at, template := daemonSetSpecPath.Child("selector"), daemonSetSpecPath.Child("template")
	errs := metav1validation.ValidateLabelSelector(spec.Selector, metav1validation.LabelSelectorValidationOptions{
		AllowInvalidLabelValueInSelector: opts.Tolerated.SelectorValues}, at)
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err == nil && !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs,
			field.Invalid(template.Child("metadata", "labels"), spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	if spec.Selector != nil && len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(at, spec.Selector, "empty selector is invalid for daemonset"))
	}
	errs = append(errs, podspec.ValidatePodTemplateSpec(&spec.Template, template, opts)...)
	if policy := spec.Template.Spec.RestartPolicy; policy != corev1.RestartPolicyAlways {
		errs = append(errs,
			field.NotSupported(template.Child("spec", "restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if spec.Template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs,
			field.Forbidden(template.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in DaemonSet is not Supported"))
	}
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), daemonSetSpecPath.Child("minReadySeconds"))...)
	errs = append(errs, validateDaemonSetStrategy(&spec.UpdateStrategy, daemonSetSpecPath.Child("updateStrategy"))...)
	if limit := spec.RevisionHistoryLimit; limit != nil {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*limit), daemonSetSpecPath.Child("revisionHistoryLimit"))...)
	}
	return errs
}

func validateDaemonSetStrategy(s *appsv1.DaemonSetUpdateStrategy, path *field.Path) field.ErrorList {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(path.Child("rollingUpdate"), "")}
		}
		return validateDaemonSetRollingUpdate(s.RollingUpdate, path.Child("rollingUpdate"))
	}
	return field.ErrorList{field.NotSupported(path, builtin.Quote(s), []appsv1.DaemonSetUpdateStrategyType{
		appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType})}
}

// validateDaemonSetRollingUpdate requires exactly one of maxUnavailable and maxSurge: either the old pods end first,
// or the new ones start first.
func validateDaemonSetRollingUpdate(u *appsv1.RollingUpdateDaemonSet, path *field.Path) field.ErrorList {
	zero := intstr.FromInt32(0)
	unavailable, surge := ptr.Deref(u.MaxUnavailable, zero), ptr.Deref(u.MaxSurge, zero)
	unavailablePath, surgePath := path.Child("maxUnavailable"), path.Child("maxSurge")
	errs := workload.ValidateCountOrPercent(&unavailable, unavailablePath)
	errs = append(errs, workload.ValidateCountOrPercent(&surge, surgePath)...)
	errs = append(errs, workload.ValidateAtMost100Percent(&unavailable, unavailablePath)...)
	errs = append(errs, workload.ValidateAtMost100Percent(&surge, surgePath)...)
	n, _ := workload.CountOrPercent(&unavailable)
	m, _ := workload.CountOrPercent(&surge)
	switch {
	case n != 0 && m != 0:
		errs = append(errs, field.Invalid(surgePath, surge, "may not be set when maxUnavailable is non-zero"))
	case n == 0 && m == 0:
		errs = append(errs, field.Required(unavailablePath, "cannot be 0 when maxSurge is 0"))
	}
	return errs
}

func validateDaemonSetStatusUpdate(ds, old *appsv1.DaemonSet) field.ErrorList {
	s := &ds.Status
	counts := []workload.Count{
		{Name: "currentNumberScheduled", Value: int64(s.CurrentNumberScheduled)},
		{Name: "numberMisscheduled", Value: int64(s.NumberMisscheduled)},
		{Name: "desiredNumberScheduled", Value: int64(s.DesiredNumberScheduled)},
		{Name: "numberReady", Value: int64(s.NumberReady)},
		{Name: "observedGeneration", Value: s.ObservedGeneration},
		{Name: "updatedNumberScheduled", Value: int64(s.UpdatedNumberScheduled)},
		{Name: "numberAvailable", Value: int64(s.NumberAvailable)},
		{Name: "numberUnavailable", Value: int64(s.NumberUnavailable)},
		{Name: "collisionCount", Value: int64(ptr.Deref(s.CollisionCount, 0))},
	}
	errs := builtin.ValidateObjectMetaUpdate(&ds.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, workload.ValidateCounts(counts)...)
	return append(errs, workload.ValidateCollisions(s.CollisionCount, old.Status.CollisionCount)...)
}
