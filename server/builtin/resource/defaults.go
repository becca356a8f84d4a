package resource

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetDefaultsClaim asks for one device where a request does not say how many.
func SetDefaultsClaim(spec *resourcev1.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if r.Exactly != nil {
			SetDefaultsMode(&r.Exactly.AllocationMode, &r.Exactly.Count)
			SetDefaultsTolerations(r.Exactly.Tolerations)
		}
		SetDefaultsSubRequests(r.FirstAvailable)
	}
}

// SetDefaultsSubRequests does so where one of several requests is met.
func SetDefaultsSubRequests(requests []resourcev1.DeviceSubRequest) {
	for i := range requests {
		SetDefaultsMode(&requests[i].AllocationMode, &requests[i].Count)
		SetDefaultsTolerations(requests[i].Tolerations)
	}
}

// SetDefaultsMode makes it a number of devices, and the number one.
func SetDefaultsMode(mode *resourcev1.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

// SetDefaultsStatus fills in what is tolerated of the devices that were allocated.
func SetDefaultsStatus(status *resourcev1.ResourceClaimStatus) {
	if status.Allocation == nil {
		return
	}
	for _, r := range status.Allocation.Devices.Results {
		SetDefaultsTolerations(r.Tolerations)
	}
}

// SetDefaultsTolerations compares values.
func SetDefaultsTolerations(tolerations []resourcev1.DeviceToleration) {
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}

// SetDefaultsTaints says since when devices have taints.
func SetDefaultsTaints(taints []resourcev1.DeviceTaint) {
	for i := range taints {
		if taints[i].TimeAdded == nil {
			taints[i].TimeAdded = Now()
		}
	}
}

// Now has no more digits than are stored.
func Now() *metav1.Time { return new(metav1.NewTime(time.Now().Truncate(time.Second))) }
