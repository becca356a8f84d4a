package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

func addDefaults(s *runtime.Scheme) {
	claim := func(c *v1beta1.ResourceClaim) {
		setV1beta1Defaults(&c.Spec)
		setDefaultsStatus(statusToHub(&c.Status))
	}
	template := func(t *v1beta1.ResourceClaimTemplate) { setV1beta1Defaults(&t.Spec.Spec) }
	slice := func(s *v1beta1.ResourceSlice) {
		for _, device := range s.Spec.Devices {
			if device.Basic != nil {
				setDefaultsTaints(*taintsToHub(&device.Basic.Taints))
			}
		}
	}
	s.AddTypeDefaultingFunc(&v1beta1.ResourceClaim{}, func(obj any) { claim(obj.(*v1beta1.ResourceClaim)) })
	s.AddTypeDefaultingFunc(&v1beta1.ResourceClaimTemplate{}, func(obj any) { template(obj.(*v1beta1.ResourceClaimTemplate)) })
	s.AddTypeDefaultingFunc(&v1beta1.ResourceSlice{}, func(obj any) { slice(obj.(*v1beta1.ResourceSlice)) })
	s.AddTypeDefaultingFunc(&v1beta1.ResourceClaimList{}, func(obj any) { each(obj.(*v1beta1.ResourceClaimList).Items, claim) })
	s.AddTypeDefaultingFunc(&v1beta1.ResourceClaimTemplateList{},
		func(obj any) { each(obj.(*v1beta1.ResourceClaimTemplateList).Items, template) })
	s.AddTypeDefaultingFunc(&v1beta1.ResourceSliceList{}, func(obj any) { each(obj.(*v1beta1.ResourceSliceList).Items, slice) })
}

func each[T any](items []T, do func(*T)) {
	for i := range items {
		do(&items[i])
	}
}

// setV1beta1Defaults skips a request without a class: it lists subrequests as alternatives, which have their own
// counts.
func setV1beta1Defaults(spec *v1beta1.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if r.DeviceClassName != "" {
			mode := resourcev1.DeviceAllocationMode(r.AllocationMode)
			setDefaultsMode(&mode, &r.Count)
			r.AllocationMode = v1beta1.DeviceAllocationMode(mode)
		}
		setDefaultsTolerations(*tolerateToHub(&r.Tolerations))
		setDefaultsSubRequests(*subToHub(&r.FirstAvailable))
	}
}
