package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// resize declares the subresource resize, which changes the resources of a running pod's containers.
var resize = builtin.Part[*corev1.Pod]{
	Keep:  keepAllButResources,
	Reset: []string{},
	Check: validateResize,
}

func newResizeREST(pods *builtin.REST) rest.Storage {
	return builtin.NewPart(pods, "resize", corev1.SchemeGroupVersion, resize)
}

// keepAllButResources restores everything but resources. If the containers differ from the old pod's, it leaves the
// pod unchanged, and validation reports the error.
func keepAllButResources(pod, old *corev1.Pod) {
	if len(pod.Spec.Containers) == len(old.Spec.Containers) && len(pod.Spec.InitContainers) == len(old.Spec.InitContainers) {
		spec := *old.Spec.DeepCopy()
		spec.Resources = pod.Spec.Resources
		spec.Containers = withResourcesOf(pod.Spec.Containers, spec.Containers)
		spec.InitContainers = withResourcesOf(pod.Spec.InitContainers, spec.InitContainers)
		pod.Spec, pod.Status = spec, old.Status
		metav1.ResetObjectMetaForStatus(&pod.ObjectMeta, &old.ObjectMeta)
	}
	if pod.Spec.Resources == nil && old.Spec.Resources != nil {
		// The client does not know the field, and so has dropped it.
		pod.Spec.Resources = old.Spec.Resources.DeepCopy()
	}
	if pod.Spec.Resources != nil {
		podspec.CompletePodResources(&pod.Spec)
	}
	podspec.DropDisabledFields(&pod.Spec, &old.Spec)
	if !apiequality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		pod.Generation = old.Generation + 1
	}
}

// withResourcesOf returns the old containers with the resources of the new ones. If their names differ, it returns
// the new ones.
func withResourcesOf(containers, old []corev1.Container) []corev1.Container {
	if !slices.EqualFunc(containers, old, func(a, b corev1.Container) bool { return a.Name == b.Name }) {
		return containers
	}
	for i, c := range containers {
		old[i].Resources, old[i].ResizePolicy = c.Resources, c.ResizePolicy
	}
	return old
}

const onlyCPUAndMemory = "only cpu and memory resources are mutable"

// validateResize allows changes of CPU and memory, but no removal of a resource.
func validateResize(pod, old *corev1.Pod) field.ErrorList {
	opts := podspec.Options{Pod: true, Tolerated: podspec.MistakesIn(&old.Spec, old.Annotations)}
	errs := builtin.ValidateObjectMetaUpdate(&pod.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validate(pod, opts)...)
	if _, ok := old.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	}
	if old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	class := old.Status.QOSClass
	if class == "" {
		class = QOSClass(&old.Spec)
	}
	if class != QOSClass(&pod.Spec) {
		errs = append(errs, field.Invalid(specPath, pod.Status.QOSClass, "Pod QOS Class may not change as a result of resizing"))
	}
	if !nodeResizes(old) {
		errs = append(errs, field.Forbidden(specPath, "Pod running on node without support for resize"))
	}
	same := pod.Spec.DeepCopy()
	errs = append(errs, validatePodLevelResize(same, &old.Spec)...)
	if wrong := validateSameContainers(&pod.Spec, &old.Spec); len(wrong) > 0 {
		return append(errs, wrong...)
	}
	errs = append(errs, validateContainersResize(same, &old.Spec)...)
	if !apiequality.Semantic.DeepEqual(pod.Spec.Volumes, old.Spec.Volumes) {
		errs = append(errs,
			field.Forbidden(specPath.Child("volumes"),
				"volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes feature gate is disabled"))
	}
	if len(errs) == 0 && !apiequality.Semantic.DeepEqual(*same, old.Spec) {
		errs = append(errs, field.Forbidden(specPath, onlyCPUAndMemory))
	}
	return errs
}

// nodeResizes infers from a running container's status whether the pod's node supports resize. Without a running
// container it returns true.
func nodeResizes(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

// validatePodLevelResize checks the pod-level resources, and undoes the allowed changes in spec.
func validatePodLevelResize(spec, old *corev1.PodSpec) field.ErrorList {
	set := func(r *corev1.ResourceRequirements) bool { return r != nil && len(r.Requests)+len(r.Limits) > 0 }
	if !set(spec.Resources) && !set(old.Resources) {
		return nil
	}
	path := specPath.Child("resources")
	if spec.Resources == nil {
		return field.ErrorList{field.Forbidden(path, "pod-level resources cannot be removed")}
	}
	var errs field.ErrorList
	was := corev1.ResourceRequirements{}
	if old.Resources != nil {
		was = *old.Resources
		if removes(spec.Resources.Requests, was.Requests) {
			errs = append(errs, field.Forbidden(path.Child("requests"), "pod-level resource requests cannot be removed"))
		}
		if removes(spec.Resources.Limits, was.Limits) {
			errs = append(errs, field.Forbidden(path.Child("limits"), "pod-level resource limits cannot be removed"))
		}
	}
	spec.Resources.Requests = withOldResources(spec.Resources.Requests, was.Requests)
	spec.Resources.Limits = withOldResources(spec.Resources.Limits, was.Limits)
	if r := spec.Resources; old.Resources == nil && len(r.Requests)+len(r.Limits)+len(r.Claims) == 0 {
		spec.Resources = nil
	}
	if !apiequality.Semantic.DeepEqual(spec.Resources, old.Resources) {
		errs = append(errs, field.Forbidden(specPath, onlyCPUAndMemory+" at pod-level"))
	}
	return errs
}

// validateSameContainers requires the same containers in the same order.
func validateSameContainers(spec, old *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []struct {
		name     string
		new, old []corev1.Container
	}{{"containers", spec.Containers, old.Containers}, {"initContainers", spec.InitContainers, old.InitContainers}} {
		path := specPath.Child(list.name)
		if len(list.new) != len(list.old) {
			errs = append(errs, field.Forbidden(path, list.name+" may not be added or removed on resize"))
			continue
		}
		for i, c := range list.new {
			if c.Name != list.old[i].Name {
				errs = append(errs, field.Forbidden(path.Index(i).Child("name"), list.name+" may not be renamed or reordered on resize"))
			}
		}
	}
	return errs
}

// validateContainersResize checks the resources of each container, and undoes the allowed changes in spec.
func validateContainersResize(spec, old *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []struct {
		name     string
		new, old []corev1.Container
	}{{"initContainers", spec.InitContainers, old.InitContainers}, {"containers", spec.Containers, old.Containers}} {
		for i := range list.new {
			path := specPath.Child(list.name).Index(i).Child("resources")
			if removes(list.new[i].Resources.Requests, list.old[i].Resources.Requests) {
				errs = append(errs, field.Forbidden(path.Child("requests"), "resource requests cannot be removed"))
			}
			if removes(list.new[i].Resources.Limits, list.old[i].Resources.Limits) {
				errs = append(errs, field.Forbidden(path.Child("limits"), "resource limits cannot be removed"))
			}
		}
	}
	for i := range spec.Containers {
		c, was := &spec.Containers[i], &old.Containers[i]
		undoResize(c, was)
		if !apiequality.Semantic.DeepEqual(c, was) {
			errs = append(errs, field.Forbidden(specPath, onlyCPUAndMemory))
		}
	}
	for i := range spec.InitContainers {
		c, was := &spec.InitContainers[i], &old.InitContainers[i]
		changed := !apiequality.Semantic.DeepEqual(c, was)
		undoResize(c, was)
		path := specPath.Child("initContainers").Index(i)
		if !apiequality.Semantic.DeepEqual(c, was) {
			errs = append(errs, field.Forbidden(path, "only cpu and memory resources for init or sidecar containers are mutable"))
		}
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if !changed || sidecar {
			continue
		}
		for _, p := range c.ResizePolicy {
			if p.RestartPolicy == corev1.RestartContainer {
				errs = append(errs,
					field.Forbidden(path, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"))
			}
		}
	}
	return errs
}

// undoResize restores a container's old CPU and memory.
func undoResize(c, old *corev1.Container) {
	c.Resources.Requests = withOldResources(c.Resources.Requests, old.Resources.Requests)
	c.Resources.Limits = withOldResources(c.Resources.Limits, old.Resources.Limits)
}

// withOldResources returns list with the CPU and memory of old.
func withOldResources(list, old corev1.ResourceList) corev1.ResourceList {
	if list == nil && old == nil {
		return nil
	}
	out := corev1.ResourceList{}
	for name, amount := range list {
		out[name] = amount
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		delete(out, name)
		if amount, ok := old[name]; ok {
			out[name] = amount
		}
	}
	return out
}

// removes reports whether list lacks a resource of old.
func removes(list, old corev1.ResourceList) bool {
	for name := range old {
		if _, ok := list[name]; !ok {
			return true
		}
	}
	return false
}
