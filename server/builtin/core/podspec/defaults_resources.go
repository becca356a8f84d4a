package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// setDefaultsPodResources completes resources that were given, in part, for the pod as a whole. The order matters: huge
// pages get limits of their containers', then requests come of the containers' or the limits, then limits of containers
// that all have one.
func setDefaultsPodResources(spec *corev1.PodSpec) {
	if spec.Resources == nil {
		return
	}
	limitHugePages(spec)
	requestForPod(spec)
	limitPod(spec)
}

func limitHugePages(spec *corev1.PodSpec) {
	limits := spec.Resources.Limits
	if len(limits) == 0 && len(spec.Resources.Requests) == 0 {
		return
	}
	if limits == nil {
		limits = corev1.ResourceList{}
	}
	fillIn(limits, sumLimits(spec), func(name corev1.ResourceName) bool {
		_, requested := spec.Resources.Requests[name]
		return !requested && isHugePage(name)
	})
	if len(limits) > 0 {
		spec.Resources.Limits = limits
	}
}

func requestForPod(spec *corev1.PodSpec) {
	if len(spec.Resources.Limits) == 0 {
		return
	}
	requests := spec.Resources.Requests
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	fillIn(requests, sumRequests(spec), func(name corev1.ResourceName) bool {
		return isPodLevel(name) && isOvercommitAllowed(name)
	})
	fillIn(requests, spec.Resources.Limits, isPodLevel)
	if len(requests) > 0 {
		spec.Resources.Requests = requests
	}
}

// limitPod bounds a pod that has requests and no limits by the sum of its containers' limits, where every container has
// one.
func limitPod(spec *corev1.PodSpec) {
	if !hasPodLevel(spec.Resources.Requests) || hasPodLevel(spec.Resources.Limits) {
		return
	}
	sum := sumLimits(spec)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if !allLimited(spec, name) {
			continue
		}
		if limit, ok := sum[name]; ok {
			if spec.Resources.Limits == nil {
				spec.Resources.Limits = corev1.ResourceList{}
			}
			spec.Resources.Limits[name] = limit
		}
	}
}

func hasPodLevel(list corev1.ResourceList) bool {
	for name := range list {
		if isPodLevel(name) {
			return true
		}
	}
	return false
}

func allLimited(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if limit, ok := containers[i].Resources.Limits[name]; !ok || limit.IsZero() {
				return false
			}
		}
	}
	return true
}

func sumRequests(spec *corev1.PodSpec) corev1.ResourceList {
	return sumUp(spec, func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests })
}

func sumLimits(spec *corev1.PodSpec) corev1.ResourceList {
	return sumUp(spec, func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits })
}

// sumUp is the most that the pod's containers use at once. Sidecars run on beside all that starts after them, other init
// containers one at a time before the containers.
func sumUp(spec *corev1.PodSpec, of func(*corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	running, highest := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.InitContainers {
		own := of(&spec.InitContainers[i].Resources)
		if IsSidecar(&spec.InitContainers[i]) {
			addTo(running, own)
			raiseTo(highest, running)
			continue
		}
		during := running.DeepCopy()
		addTo(during, own)
		raiseTo(highest, during)
	}
	for i := range spec.Containers {
		addTo(running, of(&spec.Containers[i].Resources))
	}
	raiseTo(highest, running)
	return highest
}

func addTo(sum, list corev1.ResourceList) {
	for name, quantity := range list {
		total := sum[name].DeepCopy()
		total.Add(quantity)
		if _, ok := sum[name]; !ok {
			total = quantity.DeepCopy()
		}
		sum[name] = total
	}
}

func raiseTo(highest, list corev1.ResourceList) {
	for name, quantity := range list {
		if old, ok := highest[name]; !ok || quantity.Cmp(old) > 0 {
			highest[name] = quantity.DeepCopy()
		}
	}
}

// fillIn copies the resources that list lacks and may have.
func fillIn(list, from corev1.ResourceList, may func(corev1.ResourceName) bool) {
	for name, quantity := range from {
		if _, ok := list[name]; !ok && may(name) {
			list[name] = quantity.DeepCopy()
		}
	}
}

// IsSidecar says whether an init container goes on running beside the pod's containers.
func IsSidecar(c *corev1.Container) bool {
	return c != nil && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func isHugePage(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isPodLevel says whether a resource may be given for a pod as a whole.
func isPodLevel(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePage(name)
}

// isNative says whether Kubernetes itself defines the resource; unprefixed names are its own.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

func isOvercommitAllowed(name corev1.ResourceName) bool { return isNative(name) && !isHugePage(name) }
