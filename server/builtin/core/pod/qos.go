package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// qosResources are the resources that determine the QOS class, and so which pods a kubelet evicts first.
var qosResources = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// QOSClass returns Guaranteed if every container has limits of cpu and memory, and the sums of limits and of requests
// are equal. It returns BestEffort if no container has requests or limits, and else Burstable. Pod-level resources
// replace those of the containers.
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

// sum adds cpu and memory of list to total, and returns how many of the two are above 0.
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
