package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// qosResources decide which pods are evicted first.
var qosResources = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// QOSClass is Guaranteed if every container may use exactly what it asks for, of cpu and of memory, BestEffort if none
// asks for anything or is limited, and Burstable otherwise. Resources of the pod as a whole count for all containers.
func QOSClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	limited := true
	if r := spec.Resources; r != nil && len(r.Requests)+len(r.Limits) > 0 {
		sum(requests, r.Requests)
		limited = len(r.Limits) == 0 || sum(limits, r.Limits) == len(qosResources)
	} else {
		for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
			for _, c := range containers {
				sum(requests, c.Resources.Requests)
				limited = sum(limits, c.Resources.Limits) == len(qosResources) && limited
			}
		}
	}
	if len(requests) == 0 && len(limits) == 0 {
		return corev1.PodQOSBestEffort
	}
	if !limited || len(requests) != len(limits) {
		return corev1.PodQOSBurstable
	}
	for name, request := range requests {
		if limit, ok := limits[name]; !ok || limit.Cmp(request) != 0 {
			return corev1.PodQOSBurstable
		}
	}
	return corev1.PodQOSGuaranteed
}

// sum adds the resources of list that count to total, and returns how many they are.
func sum(total, list corev1.ResourceList) (counted int) {
	for _, name := range qosResources {
		if quantity := list[name]; quantity.Cmp(resource.Quantity{}) > 0 {
			quantity = quantity.DeepCopy()
			quantity.Add(total[name])
			total[name] = quantity
			counted++
		}
	}
	return counted
}
