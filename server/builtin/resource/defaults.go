package resource

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setDefaultsClaim sets the count of a request without one to a single device.
func setDefaultsClaim(spec *resourcev1.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if r.Exactly != nil {
			setDefaultsMode(&r.Exactly.AllocationMode, &r.Exactly.Count)
			setDefaultsTolerations(r.Exactly.Tolerations)
		}
		setDefaultsSubRequests(r.FirstAvailable)
	}
}

// setDefaultsSubRequests does the same for subrequests, which are the alternatives of a request.
func setDefaultsSubRequests(requests []resourcev1.DeviceSubRequest) {
	for i := range requests {
		setDefaultsMode(&requests[i].AllocationMode, &requests[i].Count)
		setDefaultsTolerations(requests[i].Tolerations)
	}
}

// setDefaultsMode sets the mode to an exact count, and the count to one.
func setDefaultsMode(mode *resourcev1.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

// setDefaultsStatus fills in the tolerations of allocated devices.
func setDefaultsStatus(status *resourcev1.ResourceClaimStatus) {
	if status.Allocation == nil {
		return
	}
	for _, r := range status.Allocation.Devices.Results {
		setDefaultsTolerations(r.Tolerations)
	}
}

// setDefaultsTolerations sets the operator Equal.
func setDefaultsTolerations(tolerations []resourcev1.DeviceToleration) {
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}

// setDefaultsTaints fills in the times at which taints were added.
func setDefaultsTaints(taints []resourcev1.DeviceTaint) {
	for i := range taints {
		if taints[i].TimeAdded == nil {
			taints[i].TimeAdded = now()
		}
	}
}

// now returns the current time in whole seconds, as it is stored.
func now() *metav1.Time { return new(metav1.NewTime(time.Now().Truncate(time.Second))) }
