package podspec

import (
	corev1 "k8s.io/api/core/v1"
)

// CompletePodResources completes pod-level resources if the client gave some of them. The order of the steps matters:
// first limits of huge pages from the containers' limits, then requests from the containers' requests or from the
// limits, then limits from the containers' limits. It applies to new pods, and is not part of defaulting: the client
// must not own the values that it fills in.
func CompletePodResources(spec *corev1.PodSpec) {
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
		return !requested && IsHugePageResource(name)
	})
	if len(limits) > 0 {
		spec.Resources.Limits = limits
	}
}

func requestForPod(spec *corev1.PodSpec) {
	if len(spec.Resources.Limits) == 0 && len(spec.Resources.Requests) == 0 {
		return
	}
	requests := spec.Resources.Requests
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	fillIn(requests, sumRequests(spec), func(name corev1.ResourceName) bool {
		return isPodLevel(name) && IsOvercommitAllowed(name)
	})
	fillIn(requests, spec.Resources.Limits, isPodLevel)
	if len(requests) > 0 {
		spec.Resources.Requests = requests
	}
}

// limitPod adds limits for resources that the pod requests without a limit, if every container has a limit. The limit
// is the sum of the containers' limits, or the request if that is higher.
func limitPod(spec *corev1.PodSpec) {
	sum := sumLimits(spec)
	for name, request := range spec.Resources.Requests {
		if _, limited := spec.Resources.Limits[name]; limited || !isPodLevel(name) || !allLimited(spec, name) {
			continue
		}
		limit, ok := sum[name]
		if !ok {
			continue
		}
		if request.Cmp(limit) > 0 {
			limit = request.DeepCopy()
		}
		if spec.Resources.Limits == nil {
			spec.Resources.Limits = corev1.ResourceList{}
		}
		spec.Resources.Limits[name] = limit
	}
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

// sumUp returns the highest sum of resources of containers that run at the same time. Sidecars keep running while
// later containers start. Other init containers run one at a time before the containers.
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

// fillIn copies the resources that list lacks and that may accepts.
func fillIn(list, from corev1.ResourceList, may func(corev1.ResourceName) bool) {
	for name, quantity := range from {
		if _, ok := list[name]; !ok && may(name) {
			list[name] = quantity.DeepCopy()
		}
	}
}

// IsSidecar reports whether an init container keeps running beside the pod's containers.
func IsSidecar(c *corev1.Container) bool {
	return c != nil && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// isPodLevel reports whether a resource is allowed in pod-level resources.
func isPodLevel(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || IsHugePageResource(name)
}
