package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var specPath = field.NewPath("spec")

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
	return append(builtin.ValidateObjectMetaUpdate(&rs.ObjectMeta, &old.ObjectMeta), workload.ValidateReplicas(workload.Replicas{
		Replicas: s.Replicas, FullyLabeled: s.FullyLabeledReplicas, Ready: s.ReadyReplicas, Available: s.AvailableReplicas,
		ObservedGeneration: s.ObservedGeneration, Terminating: s.TerminatingReplicas,
	})...)
}
