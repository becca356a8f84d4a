package resource

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetDefaultsClaim sets the count of a request without one to a single device.
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

// SetDefaultsSubRequests does the same for subrequests, which are the alternatives of a request.
func SetDefaultsSubRequests(requests []resourcev1.DeviceSubRequest) {
	for i := range requests {
		SetDefaultsMode(&requests[i].AllocationMode, &requests[i].Count)
		SetDefaultsTolerations(requests[i].Tolerations)
	}
}

// SetDefaultsMode sets the mode to an exact count, and the count to one.
func SetDefaultsMode(mode *resourcev1.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

// SetDefaultsStatus fills in the tolerations of allocated devices.
func SetDefaultsStatus(status *resourcev1.ResourceClaimStatus) {
	if status.Allocation == nil {
		return
	}
	for _, r := range status.Allocation.Devices.Results {
		SetDefaultsTolerations(r.Tolerations)
	}
}

// SetDefaultsTolerations sets the operator Equal.
func SetDefaultsTolerations(tolerations []resourcev1.DeviceToleration) {
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}

// SetDefaultsTaints fills in the times at which taints were added.
func SetDefaultsTaints(taints []resourcev1.DeviceTaint) {
	for i := range taints {
		if taints[i].TimeAdded == nil {
			taints[i].TimeAdded = Now()
		}
	}
}

// Now returns the current time in whole seconds, as it is stored.
func Now() *metav1.Time { return new(metav1.NewTime(time.Now().Truncate(time.Second))) }
