package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// status declares the subresource status.
var status = builtin.Part[*corev1.Pod]{
	Keep:     keepAllButStatus,
	Reset:    []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
	Check:    validateStatusUpdate,
	Warnings: ipWarnings,
}

func keepAllButStatus(pod, old *corev1.Pod) {
	pod.Spec = old.Spec
	pod.DeletionTimestamp = nil
	// Old kubelets send owner references from their own copy of the pod, which may be outdated.
	pod.OwnerReferences = old.OwnerReferences
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = old.Status.QOSClass
	}
	keepObservedGenerations(&pod.Status, &old.Status)
	dropDisabled(&pod.Status, &old.Status)
}

// dropDisabled drops fields of feature gates that are off by default, unless the stored pod has them.
func dropDisabled(status, old *corev1.PodStatus) {
	if len(old.NodeAllocatableResourceClaimStatuses) == 0 {
		status.NodeAllocatableResourceClaimStatuses = nil
	}
	if len(old.VolumeHealth) == 0 {
		status.VolumeHealth = nil
	}
	if volumeStatuses(old) > 0 {
		return
	}
	for _, mounts := range mountStatuses(status) {
		for i := range mounts {
			mounts[i].VolumeStatus = nil
		}
	}
}

func volumeStatuses(status *corev1.PodStatus) (n int) {
	for _, mounts := range mountStatuses(status) {
		for _, m := range mounts {
			if m.VolumeStatus != nil {
				n++
			}
		}
	}
	return n
}

// mountStatuses returns the statuses of each container's mounts.
func mountStatuses(status *corev1.PodStatus) (all [][]corev1.VolumeMountStatus) {
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses) {
		all = append(all, c.VolumeMounts)
	}
	return all
}

func ipWarnings(pod *corev1.Pod) []string {
	var warnings []string
	for i, ip := range pod.Status.PodIPs {
		warnings = append(warnings, validation.GetWarningsForIP(field.NewPath("status", "podIPs").Index(i).Child("ip"), ip.IP)...)
	}
	for i, ip := range pod.Status.HostIPs {
		warnings = append(warnings, validation.GetWarningsForIP(field.NewPath("status", "hostIPs").Index(i).Child("ip"), ip.IP)...)
	}
	return warnings
}

// keepObservedGenerations restores observed generations that a client left out, since it may not know the field.
func keepObservedGenerations(status, old *corev1.PodStatus) {
	if status.ObservedGeneration == 0 {
		status.ObservedGeneration = old.ObservedGeneration
	}
	known := map[corev1.PodConditionType][]int64{}
	for _, c := range old.Conditions {
		known[c.Type] = append(known[c.Type], c.ObservedGeneration)
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		generations := known[c.Type]
		if len(generations) == 0 {
			continue
		}
		known[c.Type] = generations[1:]
		if c.ObservedGeneration == 0 {
			c.ObservedGeneration = generations[0]
		}
	}
}
