package quota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// Resources with more usage than their object count.
var (
	pods     = corev1.Resource("pods")
	services = corev1.Resource("services")
	claims   = corev1.Resource("persistentvolumeclaims")
	devices  = resourcev1.Resource("resourceclaims")
)

// aliases are other names for the object counts of resources.
var aliases = map[corev1.ResourceName]schema.GroupResource{
	corev1.ResourceConfigMaps:             corev1.Resource("configmaps"),
	corev1.ResourceQuotas:                 corev1.Resource("resourcequotas"),
	corev1.ResourceReplicationControllers: corev1.Resource("replicationcontrollers"),
	corev1.ResourceSecrets:                corev1.Resource("secrets"),
}

const (
	countPrefix = "count/"
	// storageClassSuffix follows a storage class in names such as
	// gold.storageclass.storage.k8s.io/requests.storage.
	storageClassSuffix = ".storageclass.storage.k8s.io/"
)

var (
	podNames = []corev1.ResourceName{
		corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
	}
	serviceNames = []corev1.ResourceName{corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers}
	claimNames   = []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage}
)

// count returns the name of a resource's object count.
func count(resource schema.GroupResource) corev1.ResourceName {
	return corev1.ResourceName(countPrefix + resource.String())
}

// findResources returns the resources whose usage a name limits, sometimes several.
func findResources(name corev1.ResourceName) (resources []schema.GroupResource) {
	text := string(name)
	if counted, ok := strings.CutPrefix(text, countPrefix); ok {
		resource := schema.ParseGroupResource(counted)
		if counted == "" || resource.Resource == "events" && (resource.Group == "" || resource.Group == "events.k8s.io") {
			return nil // events are not counted
		}
		return []schema.GroupResource{resource}
	}
	if resource, ok := aliases[name]; ok {
		return []schema.GroupResource{resource}
	}
	if slices.Contains(podNames, name) || podspec.IsHugePageResource(name) || isOfContainers(text) {
		resources = append(resources, pods)
	}
	if slices.Contains(serviceNames, name) {
		resources = append(resources, services)
	}
	if slices.Contains(claimNames, name) || slices.ContainsFunc(claimNames, func(n corev1.ResourceName) bool {
		return strings.HasSuffix(text, storageClassSuffix+string(n))
	}) {
		resources = append(resources, claims)
	}
	if strings.HasSuffix(text, corev1.ResourceClaimsPerClass) {
		resources = append(resources, devices)
	}
	return resources
}

// isOfContainers reports whether a name stands for huge pages or an extended resource, such as
// requests.example.com/gpu.
func isOfContainers(name string) bool {
	return strings.HasPrefix(name, corev1.ResourceRequestsHugePagesPrefix) ||
		strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix+resourcev1.ResourceDeviceClassPrefix) ||
		strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix) && !podspec.IsNativeResource(corev1.ResourceName(name))
}

// Resources returns the resources that a quota with these limits counts, served or not.
func Resources(hard corev1.ResourceList) (resources []schema.GroupResource) {
	for _, name := range podspec.ResourceNames(hard) {
		for _, resource := range findResources(name) {
			if !slices.Contains(resources, resource) {
				resources = append(resources, resource)
			}
		}
	}
	return resources
}

// Names returns the names in the limits that apply to a resource.
func Names(resource schema.GroupResource, hard corev1.ResourceList) (names []corev1.ResourceName) {
	for _, name := range podspec.ResourceNames(hard) {
		if slices.Contains(findResources(name), resource) {
			names = append(names, name)
		}
	}
	return names
}
