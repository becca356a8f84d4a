package quota

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	podresource "k8s.io/component-helpers/resource"

	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// Usage holds the usage of one object, and its properties for scopes.
type Usage struct {
	Amounts corev1.ResourceList
	// Until is the time at which a pod that is being deleted stops being charged; zero for all other objects.
	Until time.Time
	scope scope
}

// scope holds the properties of an object that scopes select by.
type scope struct {
	resource                          schema.GroupResource
	terminating, bestEffort, affinity bool
	// priority is the priority class, and volumes are the volume attributes classes.
	priority string
	volumes  []string
}

// NeedsObjects reports whether Measure needs decoded objects of the resource. Objects of other resources are only
// counted.
func NeedsObjects(resource schema.GroupResource) bool {
	return resource == pods || resource == services || resource == claims || resource == devices
}

// Measure returns the usage of an object. For resources that are [NeedsObjects], obj is needed, in its stored version.
func Measure(resource schema.GroupResource, obj runtime.Object) (*Usage, error) {
	u := countOne(resource)
	switch {
	case !NeedsObjects(resource):
		for alias, of := range aliases {
			if of == resource {
				u.add(alias, units(1))
			}
		}
		return u, nil
	case resource == pods:
		if p, ok := obj.(*corev1.Pod); ok {
			return measurePod(u, p), nil
		}
	case resource == services:
		if s, ok := obj.(*corev1.Service); ok {
			return measureService(u, s), nil
		}
	case resource == claims:
		if c, ok := obj.(*corev1.PersistentVolumeClaim); ok {
			return measureClaim(u, c), nil
		}
	case resource == devices:
		if c, ok := obj.(*resourcev1.ResourceClaim); ok {
			return measureDevices(u, c), nil
		}
	}
	return nil, fmt.Errorf("not an object of %s: %T", resource, obj)
}

// countOne returns the usage of an object that is only counted.
func countOne(resource schema.GroupResource) *Usage {
	return &Usage{Amounts: corev1.ResourceList{count(resource): units(1)}, scope: scope{resource: resource}}
}

func units(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }

func (u *Usage) add(name corev1.ResourceName, more resource.Quantity) {
	sum, ok := u.Amounts[name]
	if !ok {
		u.Amounts[name] = more.DeepCopy()
		return
	}
	sum.Add(more)
	u.Amounts[name] = sum
}

// AfterUntil returns the usage after Until.
func (u *Usage) AfterUntil() *Usage {
	ended := countOne(u.scope.resource)
	ended.scope = u.scope
	return ended
}

// Signature is equal for objects with the same usage and the same properties for scopes.
func (u *Usage) Signature() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%v", u.scope)
	for _, name := range podspec.ResourceNames(u.Amounts) {
		quantity := u.Amounts[name]
		fmt.Fprintf(&text, " %s=%s", name, quantity.String())
	}
	return text.String()
}

// measurePod charges a pod until it has ended. Its object count is charged until it is deleted from etcd.
func measurePod(u *Usage, p *corev1.Pod) *Usage {
	class := p.Status.QOSClass
	if class == "" {
		class = pod.QOSClass(&p.Spec)
	}
	deadline := p.Spec.ActiveDeadlineSeconds
	u.scope.terminating, u.scope.bestEffort = deadline != nil && *deadline >= 0, class == corev1.PodQOSBestEffort
	u.scope.priority, u.scope.affinity = p.Spec.PriorityClassName, reachesNamespaces(p.Spec.Affinity)
	if p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		return u
	}
	if p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil {
		// Upstream adds the period to a time that contains it. A kubelet that is lost deletes nothing.
		u.Until = p.DeletionTimestamp.Add(time.Duration(*p.DeletionGracePeriodSeconds) * time.Second)
	}
	u.add(corev1.ResourcePods, units(1))
	options := podresource.PodResourcesOptions{UseStatusResources: true}
	for name, request := range podresource.PodRequests(p, options) {
		switch {
		case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage,
			podspec.IsHugePageResource(name):
			u.add(name, request)
			u.add(corev1.DefaultResourceRequestsPrefix+name, request)
		case podspec.IsExtendedResource(name), strings.HasPrefix(string(name), resourcev1.ResourceDeviceClassPrefix):
			u.add(corev1.DefaultResourceRequestsPrefix+name, request)
		}
	}
	for name, limit := range podresource.PodLimits(p, options) {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage {
			u.add("limits."+name, limit)
		}
	}
	return u
}

// reachesNamespaces reports whether an affinity names pods that may be in other namespaces.
func reachesNamespaces(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	reaches := func(term corev1.PodAffinityTerm) bool {
		return len(term.Namespaces) > 0 || term.NamespaceSelector != nil
	}
	weighted := func(term corev1.WeightedPodAffinityTerm) bool { return reaches(term.PodAffinityTerm) }
	if near := a.PodAffinity; near != nil && (slices.ContainsFunc(near.RequiredDuringSchedulingIgnoredDuringExecution, reaches) ||
		slices.ContainsFunc(near.PreferredDuringSchedulingIgnoredDuringExecution, weighted)) {
		return true
	}
	far := a.PodAntiAffinity
	return far != nil && (slices.ContainsFunc(far.RequiredDuringSchedulingIgnoredDuringExecution, reaches) ||
		slices.ContainsFunc(far.PreferredDuringSchedulingIgnoredDuringExecution, weighted))
}

// measureService counts the intended node ports: a service that is about to be created has none yet.
func measureService(u *Usage, s *corev1.Service) *Usage {
	var ports, balancers int64
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		ports = int64(len(s.Spec.Ports))
	case corev1.ServiceTypeLoadBalancer:
		balancers = 1
		allocates := s.Spec.AllocateLoadBalancerNodePorts
		for _, p := range s.Spec.Ports {
			if allocates == nil || *allocates || p.NodePort != 0 {
				ports++
			}
		}
	}
	u.add(corev1.ResourceServices, units(1))
	u.add(corev1.ResourceServicesNodePorts, units(ports))
	u.add(corev1.ResourceServicesLoadBalancers, units(balancers))
	return u
}

func measureClaim(u *Usage, c *corev1.PersistentVolumeClaim) *Usage {
	class, annotated := c.Annotations[corev1.BetaStorageClassAnnotation]
	if !annotated && c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	charge := func(name corev1.ResourceName, quantity resource.Quantity) {
		u.add(name, quantity)
		if class != "" {
			u.add(corev1.ResourceName(class+storageClassSuffix)+name, quantity)
		}
	}
	charge(corev1.ResourcePersistentVolumeClaims, units(1))
	if storage, ok := c.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
		// The size of a granted expansion counts, even if the claim requests less again.
		if allocated := c.Status.AllocatedResources[corev1.ResourceStorage]; allocated.Cmp(storage) > 0 {
			storage = allocated
		}
		storage = storage.DeepCopy()
		storage.RoundUp(0)
		charge(corev1.ResourceRequestsStorage, storage)
	}
	names := []*string{c.Spec.VolumeAttributesClassName, c.Status.CurrentVolumeAttributesClassName}
	if modify := c.Status.ModifyVolumeStatus; modify != nil {
		names = append(names, &modify.TargetVolumeAttributesClassName)
	}
	for _, name := range names {
		if name != nil && *name != "" && !slices.Contains(u.scope.volumes, *name) {
			u.scope.volumes = append(u.scope.volumes, *name)
		}
	}
	return u
}

// measureDevices charges the most devices of each class that a claim may get. They also count as requests for
// the class, unless they are for a pod that requests them itself.
func measureDevices(u *Usage, c *resourcev1.ResourceClaim) *Usage {
	charge := func(class string, n int64) {
		u.add(corev1.ResourceName(class+corev1.ResourceClaimsPerClass), units(n))
		if n > 0 && c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" {
			u.add(corev1.ResourceName(corev1.ResourceImplicitExtendedClaimsPerClass+class), units(n))
		}
	}
	for _, request := range c.Spec.Devices.Requests {
		if exactly := request.Exactly; exactly != nil && len(request.FirstAvailable) == 0 {
			charge(exactly.DeviceClassName, most(exactly.AllocationMode, exactly.Count))
			continue
		}
		// Only one of the alternatives is allocated: of each class, the largest request counts.
		byClass := map[string]int64{}
		for _, sub := range request.FirstAvailable {
			byClass[sub.DeviceClassName] = max(byClass[sub.DeviceClassName], most(sub.AllocationMode, sub.Count))
		}
		for class, n := range byClass {
			if n > 0 {
				charge(class, n)
			}
		}
	}
	return u
}

func most(mode resourcev1.DeviceAllocationMode, count int64) int64 {
	switch mode {
	case resourcev1.DeviceAllocationModeExactCount:
		return count
	case resourcev1.DeviceAllocationModeAll:
		return resourcev1.AllocationResultsMaxSize
	}
	return 0
}
