package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
)

// countable resources come in whole units.
var countable = sets.New[corev1.ResourceName](
	corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
	corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
	corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers)

// divisible lists the resources of containers under the names that quotas use.
var divisible = sets.New[corev1.ResourceName](
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage)

// isStandardResource reports whether Kubernetes uses a name without a prefix anywhere, including in quotas.
func isStandardResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceStorage || IsQuotaResource(name)
}

// IsQuotaResource reports whether a quota can limit the resource of a name without a prefix.
func IsQuotaResource(name corev1.ResourceName) bool {
	return countable.Has(name) || divisible.Has(name) || name == corev1.ResourceRequestsStorage || IsHugePageResource(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// isWholeResource reports whether a resource comes only in whole units.
func isWholeResource(name corev1.ResourceName) bool {
	return countable.Has(name) || IsExtendedResource(name)
}

// IsHugePageResource reports whether a name means memory in huge pages. Such a name ends with the size of a page.
func IsHugePageResource(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// IsNativeResource reports whether Kubernetes itself defines the resource. It owns all names without a prefix.
func IsNativeResource(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// IsExtendedResource reports whether a vendor defines the resource, such as example.com/gpu.
func IsExtendedResource(name corev1.ResourceName) bool {
	if IsNativeResource(name) || strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// IsOvercommitAllowed reports whether the limits of containers may add up to more of a resource than a node has.
func IsOvercommitAllowed(name corev1.ResourceName) bool {
	return IsNativeResource(name) && !IsHugePageResource(name)
}
