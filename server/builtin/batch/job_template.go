package batch

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

// validateTemplateUpdate makes the template immutable. Only the placement and the resources of pods may change, while
// the job is suspended and none of its pods run.
func validateTemplateUpdate(j, old *batchv1.Job) field.ErrorList {
	suspended := ptr.Deref(old.Spec.Suspend, false)
	quiet := suspended && old.Status.Active == 0 && (old.Status.StartTime == nil || isTrue(old, batchv1.JobSuspended))
	template, was := &j.Spec.Template, &old.Spec.Template
	if !quiet {
		return builtin.ValidateImmutable(template, was, jobSpecPath.Child("template"))
	}
	same := was.DeepCopy()
	allowPlacement(same, template)
	allowResources(same.Spec.Containers, template.Spec.Containers)
	allowResources(same.Spec.InitContainers, template.Spec.InitContainers)
	// Metadata that allowPlacement does not copy, such as a name, is not compared: upstream compares specs alone.
	return builtin.ValidateImmutable(template.Spec, same.Spec, jobSpecPath.Child("template.spec"))
}

// allowPlacement copies the fields about the placement of pods from template.
func allowPlacement(same, template *corev1.PodTemplateSpec) {
	affinity := template.Spec.Affinity
	switch {
	case affinity == nil && same.Spec.Affinity != nil:
		same.Spec.Affinity.NodeAffinity = nil
		if apiequality.Semantic.DeepEqual(*same.Spec.Affinity, corev1.Affinity{}) {
			same.Spec.Affinity = nil
		}
	case affinity != nil && same.Spec.Affinity == nil:
		same.Spec.Affinity = &corev1.Affinity{NodeAffinity: affinity.NodeAffinity}
	case affinity != nil:
		same.Spec.Affinity.NodeAffinity = affinity.NodeAffinity
	}
	same.Spec.NodeSelector = template.Spec.NodeSelector
	same.Spec.Tolerations = template.Spec.Tolerations
	same.Spec.SchedulingGates = template.Spec.SchedulingGates
}

// allowResources copies the resources of containers, if the containers are the same.
func allowResources(same, containers []corev1.Container) {
	if len(same) != len(containers) {
		return
	}
	for i := range same {
		if same[i].Name == containers[i].Name {
			same[i].Resources = containers[i].Resources
		}
	}
}
