package resource

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	poolToHub        = builtin.ViewAs[v1beta1.ResourcePool, resourcev1.ResourcePool]()
	poolFromHub      = builtin.ViewAs[resourcev1.ResourcePool, v1beta1.ResourcePool]()
	countersToHub    = builtin.ViewAs[[]v1beta1.CounterSet, []resourcev1.CounterSet]()
	countersFromHub  = builtin.ViewAs[[]resourcev1.CounterSet, []v1beta1.CounterSet]()
	skipToHub        = builtin.ViewAs[[]v1beta1.SkipNodeOperation, []resourcev1.SkipNodeOperation]()
	skipFromHub      = builtin.ViewAs[[]resourcev1.SkipNodeOperation, []v1beta1.SkipNodeOperation]()
	nameToHub        = builtin.ViewAs[v1beta1.FullyQualifiedName, resourcev1.FullyQualifiedName]()
	nameFromHub      = builtin.ViewAs[resourcev1.FullyQualifiedName, v1beta1.FullyQualifiedName]()
	consumedToHub    = builtin.ViewAs[[]v1beta1.DeviceCounterConsumption, []resourcev1.DeviceCounterConsumption]()
	consumedFromHub  = builtin.ViewAs[[]resourcev1.DeviceCounterConsumption, []v1beta1.DeviceCounterConsumption]()
	taintsToHub      = builtin.ViewAs[[]v1beta1.DeviceTaint, []resourcev1.DeviceTaint]()
	taintsFromHub    = builtin.ViewAs[[]resourcev1.DeviceTaint, []v1beta1.DeviceTaint]()
	attributeToHub   = builtin.ViewAs[v1beta1.DeviceAttribute, resourcev1.DeviceAttribute]()
	attributeFromHub = builtin.ViewAs[resourcev1.DeviceAttribute, v1beta1.DeviceAttribute]()
	capacityToHub    = builtin.ViewAs[v1beta1.DeviceCapacity, resourcev1.DeviceCapacity]()
	capacityFromHub  = builtin.ViewAs[resourcev1.DeviceCapacity, v1beta1.DeviceCapacity]()
	nodeToHub        = builtin.ViewAs[v1beta1.NodeAllocatableResource, resourcev1.NodeAllocatableResource]()
	nodeFromHub      = builtin.ViewAs[resourcev1.NodeAllocatableResource, v1beta1.NodeAllocatableResource]()
)

// sliceToHub treats an empty node name as a missing one.
func sliceToHub(in *v1beta1.ResourceSlice, out *resourcev1.ResourceSlice) {
	*out = resourcev1.ResourceSlice{ObjectMeta: in.ObjectMeta, Spec: resourcev1.ResourceSliceSpec{
		Driver:                 in.Spec.Driver,
		Pool:                   *poolToHub(&in.Spec.Pool),
		NodeSelector:           in.Spec.NodeSelector,
		Devices:                builtin.ConvertAll(in.Spec.Devices, deviceToHub),
		PerDeviceNodeSelection: in.Spec.PerDeviceNodeSelection,
		SharedCounters:         *countersToHub(&in.Spec.SharedCounters),
		SkipNodeOperations:     *skipToHub(&in.Spec.SkipNodeOperations),
	}}
	if in.Spec.NodeName != "" {
		out.Spec.NodeName = &in.Spec.NodeName
	}
	if in.Spec.AllNodes {
		out.Spec.AllNodes = &in.Spec.AllNodes
	}
	if name := in.Spec.PartitionTypeAttribute; name != nil {
		out.Spec.PartitionTypeAttribute = nameToHub(name)
	}
}

func sliceFromHub(in *resourcev1.ResourceSlice, out *v1beta1.ResourceSlice) {
	*out = v1beta1.ResourceSlice{ObjectMeta: in.ObjectMeta, Spec: v1beta1.ResourceSliceSpec{
		Driver:                 in.Spec.Driver,
		Pool:                   *poolFromHub(&in.Spec.Pool),
		NodeName:               ptr.Deref(in.Spec.NodeName, ""),
		NodeSelector:           in.Spec.NodeSelector,
		AllNodes:               ptr.Deref(in.Spec.AllNodes, false),
		Devices:                builtin.ConvertAll(in.Spec.Devices, deviceFromHub),
		PerDeviceNodeSelection: in.Spec.PerDeviceNodeSelection,
		SharedCounters:         *countersFromHub(&in.Spec.SharedCounters),
		SkipNodeOperations:     *skipFromHub(&in.Spec.SkipNodeOperations),
	}}
	if name := in.Spec.PartitionTypeAttribute; name != nil {
		out.Spec.PartitionTypeAttribute = nameFromHub(name)
	}
}

func deviceToHub(in *v1beta1.Device, out *resourcev1.Device) {
	*out = resourcev1.Device{Name: in.Name}
	basic := in.Basic
	if basic == nil {
		return
	}
	out.Attributes = convertMap[resourcev1.QualifiedName](basic.Attributes, attributeToHub)
	out.Capacity = convertMap[resourcev1.QualifiedName](basic.Capacity, capacityToHub)
	if len(basic.ConsumesCounters) > 0 {
		out.ConsumesCounters = *consumedToHub(&basic.ConsumesCounters)
	}
	out.NodeName, out.NodeSelector, out.AllNodes = basic.NodeName, basic.NodeSelector, basic.AllNodes
	if len(basic.Taints) > 0 {
		out.Taints = *taintsToHub(&basic.Taints)
	}
	out.BindsToNode, out.BindingConditions, out.BindingFailureConditions =
		basic.BindsToNode, basic.BindingConditions, basic.BindingFailureConditions
	out.AllowMultipleAllocations = basic.AllowMultipleAllocations
	out.NodeAllocatableResources = convertMap[corev1.ResourceName](basic.NodeAllocatableResources, nodeToHub)
}

// deviceFromHub writes the properties of every device into its field basic.
func deviceFromHub(in *resourcev1.Device, out *v1beta1.Device) {
	basic := &v1beta1.BasicDevice{
		Attributes:   convertMap[v1beta1.QualifiedName](in.Attributes, attributeFromHub),
		Capacity:     convertMap[v1beta1.QualifiedName](in.Capacity, capacityFromHub),
		NodeName:     in.NodeName,
		NodeSelector: in.NodeSelector,
		AllNodes:     in.AllNodes,
		BindsToNode:  in.BindsToNode,

		BindingConditions:        in.BindingConditions,
		BindingFailureConditions: in.BindingFailureConditions,
		AllowMultipleAllocations: in.AllowMultipleAllocations,
		NodeAllocatableResources: convertMap[corev1.ResourceName](in.NodeAllocatableResources, nodeFromHub),
	}
	if len(in.ConsumesCounters) > 0 {
		basic.ConsumesCounters = *consumedFromHub(&in.ConsumesCounters)
	}
	if len(in.Taints) > 0 {
		basic.Taints = *taintsFromHub(&in.Taints)
	}
	*out = v1beta1.Device{Name: in.Name, Basic: basic}
}

// convertMap drops an empty map.
func convertMap[OutKey, Key ~string, In, Out any](in map[Key]In, convert func(*In) *Out) map[OutKey]Out {
	if len(in) == 0 {
		return nil
	}
	out := make(map[OutKey]Out, len(in))
	for key, value := range in {
		out[OutKey(key)] = *convert(&value)
	}
	return out
}
