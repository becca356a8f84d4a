package amount

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

// divisible resources are those of containers, as quotas name them.
var divisible = sets.New[corev1.ResourceName](
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage)

// IsStandard says whether a name without a prefix is known anywhere, be it in a quota.
func IsStandard(name corev1.ResourceName) bool {
	return name == corev1.ResourceStorage || IsQuota(name)
}

// IsQuota says whether a quota can limit what a name without a prefix stands for.
func IsQuota(name corev1.ResourceName) bool {
	return countable.Has(name) || divisible.Has(name) || name == corev1.ResourceRequestsStorage || IsHugePage(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// IsWhole says whether there are only whole units of a resource.
func IsWhole(name corev1.ResourceName) bool { return countable.Has(name) || IsExtended(name) }

// IsHugePage says whether a name stands for memory in pages of the size that it ends with.
func IsHugePage(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// IsNative says whether Kubernetes itself defines the resource; unprefixed names are its own.
func IsNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// IsExtended says whether the resource is somebody else's, such as example.com/gpu.
func IsExtended(name corev1.ResourceName) bool {
	if IsNative(name) || strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// IsOvercommitAllowed says whether containers together may be limited to more of a resource than a node has.
func IsOvercommitAllowed(name corev1.ResourceName) bool { return IsNative(name) && !IsHugePage(name) }
