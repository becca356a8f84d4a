package jobspec

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// SetDefaults fills in the defaults that jobs and job templates share. Only a job gets default numbers of pods.
func SetDefaults(spec *batchv1.JobSpec) {
	if policy := spec.PodFailurePolicy; policy != nil {
		for i := range policy.Rules {
			for j := range policy.Rules[i].OnPodConditions {
				if pattern := &policy.Rules[i].OnPodConditions[j]; pattern.Status == "" {
					pattern.Status = corev1.ConditionTrue
				}
			}
		}
	}
	podspec.SetDefaultsPodTemplate(&spec.Template)
}

// DropDisabledFields clears the fields of features that are off by default, unless old (nil for a new spec) has them.
func DropDisabledFields(spec, old *batchv1.JobSpec) {
	var oldPod *corev1.PodSpec
	if old != nil {
		oldPod = &old.Template.Spec
	}
	if old == nil || old.Scheduling == nil {
		spec.Scheduling = nil
	}
	podspec.DropDisabledFields(&spec.Template.Spec, oldPod)
}
