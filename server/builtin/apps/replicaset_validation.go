package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var replicaSetSpecPath = field.NewPath("spec")

func validateReplicaSet(rs *appsv1.ReplicaSet) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&rs.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateReplicaSetSpec(&rs.Spec, podspec.Options{})...)
}

func validateReplicaSetSpec(spec *appsv1.ReplicaSetSpec, opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	if spec.Replicas != nil {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*spec.Replicas), replicaSetSpecPath.Child("replicas"))...)
	}
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), replicaSetSpecPath.Child("minReadySeconds"))...)
	return append(errs, workload.ValidateSelectorAndTemplate(spec.Selector, &spec.Template, replicaSetSpecPath, opts)...)
}

func validateReplicaSetUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&rs.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateReplicaSetSpec(&rs.Spec, podspec.Options{
		Tolerated: podspec.MistakesIn(&old.Spec.Template.Spec, old.Spec.Template.Annotations),
	})...)
	return append(errs, apivalidation.ValidateImmutableField(rs.Spec.Selector, old.Spec.Selector, replicaSetSpecPath.Child("selector"))...)
}

func validateReplicaSetStatusUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	s := &rs.Status
	return append(builtin.ValidateObjectMetaUpdate(&rs.ObjectMeta, &old.ObjectMeta), workload.ValidateReplicas(workload.Replicas{
		Replicas: s.Replicas, FullyLabeled: s.FullyLabeledReplicas, Ready: s.ReadyReplicas, Available: s.AvailableReplicas,
		ObservedGeneration: s.ObservedGeneration, Terminating: s.TerminatingReplicas,
	})...)
}
