package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	specPath   = field.NewPath("spec")
	statusPath = field.NewPath("status")
)

func validate(rs *appsv1.ReplicaSet) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&rs.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateSpec(&rs.Spec, podspec.Options{})...)
}

func validateSpec(spec *appsv1.ReplicaSetSpec, opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	if spec.Replicas != nil {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*spec.Replicas), specPath.Child("replicas"))...)
	}
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), specPath.Child("minReadySeconds"))...)
	return append(errs, workload.ValidateSelectorAndTemplate(spec.Selector, &spec.Template, specPath, opts)...)
}

func validateUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&rs.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateSpec(&rs.Spec, podspec.Options{
		Tolerated: podspec.MistakesIn(&old.Spec.Template.Spec, old.Spec.Template.Annotations),
	})...)
	return append(errs, apivalidation.ValidateImmutableField(rs.Spec.Selector, old.Spec.Selector, specPath.Child("selector"))...)
}

func validateStatusUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	s := &rs.Status
	errs := builtin.ValidateObjectMetaUpdate(&rs.ObjectMeta, &old.ObjectMeta)
	counts := []workload.Count{
		{Name: "replicas", Value: int64(s.Replicas)},
		{Name: "fullyLabeledReplicas", Value: int64(s.FullyLabeledReplicas)},
		{Name: "readyReplicas", Value: int64(s.ReadyReplicas)},
		{Name: "availableReplicas", Value: int64(s.AvailableReplicas)},
		{Name: "observedGeneration", Value: s.ObservedGeneration},
	}
	if s.TerminatingReplicas != nil {
		counts = append(counts, workload.Count{Name: "terminatingReplicas", Value: int64(*s.TerminatingReplicas)})
	}
	errs = append(errs, workload.ValidateCounts(counts)...)
	for _, c := range counts[1:4] {
		if c.Value > int64(s.Replicas) {
			errs = append(errs, field.Invalid(statusPath.Child(c.Name), int32(c.Value), "cannot be greater than status.replicas"))
		}
	}
	if s.AvailableReplicas > s.ReadyReplicas {
		errs = append(errs, field.Invalid(statusPath.Child("availableReplicas"), s.AvailableReplicas, "cannot be greater than readyReplicas"))
	}
	return errs
}
