package apps

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	deploymentSpecPath   = field.NewPath("spec")
	deploymentStatusPath = field.NewPath("status")
)

func validateDeployment(d *appsv1.Deployment) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&d.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateDeploymentSpec(d, podspec.Options{})...)
}

func validateDeploymentUpdate(d, old *appsv1.Deployment) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&d.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateDeploymentSpec(d, podspec.Options{
		Tolerated: podspec.MistakesIn(&old.Spec.Template.Spec, old.Spec.Template.Annotations),
	})...)
}

func validateDeploymentSpec(d *appsv1.Deployment, opts podspec.Options) field.ErrorList {
	spec := &d.Spec
	var errs field.ErrorList
	nonnegative := func(value *int32, name string) {
		if value != nil {
			errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*value), deploymentSpecPath.Child(name))...)
		}
	}
	nonnegative(spec.Replicas, "replicas")
	errs = append(errs, workload.ValidateSelectorAndTemplate(spec.Selector, &spec.Template, deploymentSpecPath, opts)...)
	errs = append(errs, validateDeploymentStrategy(&spec.Strategy, deploymentSpecPath.Child("strategy"))...)
	nonnegative(&spec.MinReadySeconds, "minReadySeconds")
	nonnegative(spec.RevisionHistoryLimit, "revisionHistoryLimit")
	errs = append(errs, validateRollbackAnnotation(d.Annotations)...)
	nonnegative(spec.ProgressDeadlineSeconds, "progressDeadlineSeconds")
	if p := spec.ProgressDeadlineSeconds; p != nil && *p <= spec.MinReadySeconds {
		errs = append(errs, field.Invalid(deploymentSpecPath.Child("progressDeadlineSeconds"), *p, "must be greater than minReadySeconds"))
	}
	return errs
}

func validateDeploymentStrategy(s *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	at := path.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(at, "may not be specified when strategy `type` is 'Recreate'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(at, "this should be defaulted and never be nil")}
		}
		return validateDeploymentRollingUpdate(s.RollingUpdate, at)
	}
	return field.ErrorList{field.NotSupported(path, builtin.Quote(s), []appsv1.DeploymentStrategyType{
		appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
}

func validateDeploymentRollingUpdate(u *appsv1.RollingUpdateDeployment, path *field.Path) field.ErrorList {
	var zero intstr.IntOrString
	unavailable, surge := &zero, &zero
	if u.MaxUnavailable != nil {
		unavailable = u.MaxUnavailable
	}
	if u.MaxSurge != nil {
		surge = u.MaxSurge
	}
	at := path.Child("maxUnavailable")
	errs := workload.ValidateCountOrPercent(unavailable, at)
	errs = append(errs, workload.ValidateCountOrPercent(surge, path.Child("maxSurge"))...)
	n, _ := workload.CountOrPercent(unavailable)
	if m, _ := workload.CountOrPercent(surge); n == 0 && m == 0 {
		errs = append(errs, field.Invalid(at, unavailable, "may not be 0 when `maxSurge` is 0"))
	}
	return append(errs, workload.ValidateAtMost100Percent(unavailable, at)...)
}

// validateRollbackAnnotation rejects values that apps/v1beta1 could not convert to its field.
func validateRollbackAnnotation(annotations map[string]string) field.ErrorList {
	value, ok := annotations[appsv1.DeprecatedRollbackTo]
	if !ok || value == "" {
		return nil
	}
	revision, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(appsv1.DeprecatedRollbackTo), value,
			"must be a 64bit integer")}
	}
	return apivalidation.ValidateNonnegativeField(revision, deploymentSpecPath.Child("rollback", "version"))
}

func validateRollback(r *appsv1beta1.DeploymentRollback) field.ErrorList {
	errs := apivalidation.ValidateAnnotations(r.UpdatedAnnotations, field.NewPath("updatedAnnotations"))
	if r.Name == "" {
		errs = append(errs, field.Required(field.NewPath("name"), "name is required"))
	}
	return append(errs, apivalidation.ValidateNonnegativeField(r.RollbackTo.Revision, field.NewPath("rollback", "version"))...)
}

func validateDeploymentStatusUpdate(d, old *appsv1.Deployment) field.ErrorList {
	s := &d.Status
	errs := builtin.ValidateObjectMetaUpdate(&d.ObjectMeta, &old.ObjectMeta)
	counts := []workload.Count{
		{Name: "observedGeneration", Value: s.ObservedGeneration},
		{Name: "replicas", Value: int64(s.Replicas)},
		{Name: "updatedReplicas", Value: int64(s.UpdatedReplicas)},
		{Name: "readyReplicas", Value: int64(s.ReadyReplicas)},
		{Name: "availableReplicas", Value: int64(s.AvailableReplicas)},
		{Name: "unavailableReplicas", Value: int64(s.UnavailableReplicas)},
	}
	parts := counts[2:5]
	collisions, oldCollisions := s.CollisionCount, old.Status.CollisionCount
	if s.TerminatingReplicas != nil {
		counts = append(counts, workload.Count{Name: "terminatingReplicas", Value: int64(*s.TerminatingReplicas)})
	}
	if collisions != nil {
		counts = append(counts, workload.Count{Name: "collisionCount", Value: int64(*collisions)})
	}
	errs = append(errs, workload.ValidateCounts(counts)...)
	for _, c := range parts {
		if c.Value > int64(s.Replicas) {
			errs = append(errs, field.Invalid(deploymentStatusPath.Child(c.Name), int32(c.Value), "cannot be greater than status.replicas"))
		}
	}
	if s.AvailableReplicas > s.ReadyReplicas {
		errs = append(errs,
			field.Invalid(deploymentStatusPath.Child("availableReplicas"), s.AvailableReplicas, "cannot be greater than readyReplicas"))
	}
	return append(errs, workload.ValidateCollisions(collisions, oldCollisions)...)
}
