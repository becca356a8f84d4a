package podspec

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/server/builtin/core/amount"
)

// CompletePodResources completes resources that were given, in part, for the pod as a whole. The order matters: huge
// pages get limits of their containers', then requests come of the containers' or the limits, then limits of containers
// that all have one. It is for new pods, and not among the defaults: who writes a pod does not own what is filled in
// here.
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
		return !requested && amount.IsHugePage(name)
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
		return isPodLevel(name) && amount.IsOvercommitAllowed(name)
	})
	fillIn(requests, spec.Resources.Limits, isPodLevel)
	if len(requests) > 0 {
		spec.Resources.Requests = requests
	}
}

// limitPod bounds what a pod requests without a limit by the sum of its containers' limits, where every container has
// one, or by the request if that is more.
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

// sumUp is the most that the pod's containers use at once. Sidecars keep running beside all that starts later; other
// init containers run one at a time before the containers.
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

// isPodLevel says whether a resource may be given for a pod as a whole.
func isPodLevel(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || amount.IsHugePage(name)
}
