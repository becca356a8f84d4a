package resource

import (
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	dra "k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// dropGone clears the status of devices that are no longer allocated.
func dropGone(status, old *resourcev1.ResourceClaimStatus) {
	gone := allocated(old).Difference(allocated(status))
	status.Devices = slices.DeleteFunc(status.Devices, func(d resourcev1.AllocatedDeviceStatus) bool { return gone.Has(deviceOf(&d)) })
	if len(status.Devices) == 0 {
		status.Devices = nil
	}
}

// dropDisabledStatus clears the operations that a node may skip for a device, which are off by default, unless old
// has them.
func dropDisabledStatus(status, old *resourcev1.ResourceClaimStatus) {
	skips := func(r resourcev1.DeviceRequestAllocationResult) bool { return len(r.SkipNodeOperations) > 0 }
	if old.Allocation != nil && slices.ContainsFunc(old.Allocation.Devices.Results, skips) || status.Allocation == nil {
		return
	}
	for i := range status.Allocation.Devices.Results {
		status.Allocation.Devices.Results[i].SkipNodeOperations = nil
	}
}

func allocated(status *resourcev1.ResourceClaimStatus) sets.Set[dra.SharedDeviceID] {
	ids := sets.New[dra.SharedDeviceID]()
	if status.Allocation == nil {
		return ids
	}
	for _, r := range status.Allocation.Devices.Results {
		ids.Insert(dra.MakeSharedDeviceID(dra.MakeDeviceID(r.Driver, r.Pool, r.Device), r.ShareID))
	}
	return ids
}

func deviceOf(s *resourcev1.AllocatedDeviceStatus) dra.SharedDeviceID {
	return dra.MakeSharedDeviceID(dra.MakeDeviceID(s.Driver, s.Pool, s.Device), (*types.UID)(s.ShareID))
}

// validateClaimStatus checks the new status of a claim by the rules that its type does not declare.
func validateClaimStatus(claim, before *resourcev1.ResourceClaim, path *field.Path) (errs field.ErrorList) {
	status, old := &claim.Status, &before.Status
	reserved := path.Child("reservedFor")
	if len(status.ReservedFor) <= resourcev1.ResourceClaimReservedForMaxSize {
		for i, user := range status.ReservedFor {
			for _, part := range []struct{ name, value string }{{"resource", user.Resource}, {"name", user.Name},
				{"uid", string(user.UID)}} {
				if part.value == "" {
					errs = append(errs, field.Required(reserved.Index(i).Child(part.name), ""))
				}
			}
		}
	}
	ids := allocated(status)
	for i := range status.Devices {
		errs = append(errs, validateDeviceStatus(&status.Devices[i], ids, path.Child("devices").Index(i))...)
	}
	switch more := sets.New(status.ReservedFor...).Difference(sets.New(old.ReservedFor...)); {
	case len(status.ReservedFor) == 0:
	case status.Allocation == nil:
		errs = append(errs, field.Forbidden(reserved, "may not be specified when `allocated` is not set"))
	case claim.DeletionTimestamp != nil && len(more) > 0:
		errs = append(errs,
			field.Forbidden(reserved, "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"))
	}
	if status.Allocation != nil && old.Allocation == nil {
		errs = append(errs, validateAllocation(status.Allocation, namesOf(&claim.Spec.Devices), path.Child("allocation"))...)
	}
	return writtenErrors(errs)
}

func validateDeviceStatus(s *resourcev1.AllocatedDeviceStatus, allocated sets.Set[dra.SharedDeviceID], path *field.Path) field.ErrorList {
	errs := validateDriver(s.Driver, path.Child("driver"))
	errs = append(errs, validatePool(s.Pool, path.Child("pool"))...)
	errs = append(errs, ValidateDeviceName(s.Device, path.Child("device"))...)
	if id := deviceOf(s); !allocated.Has(id) {
		errs = append(errs, field.Invalid(path, id, "must be an allocated device in the claim"))
	}
	conditions := path.Child("conditions")
	if len(s.Conditions) > resourcev1.AllocatedDeviceStatusMaxConditions {
		errs = append(errs, field.TooMany(conditions, len(s.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions))
	}
	for _, err := range metav1validation.ValidateConditions(s.Conditions, conditions) {
		// The type declares the same rules, but declared rules run later.
		err.CoveredByDeclarative = false
		errs = append(errs, err)
	}
	if s.Data != nil && len(s.Data.Raw) > 0 {
		errs = append(errs, validateParameters(*s.Data, resourcev1.AllocatedDeviceStatusDataMaxLength, path.Child("data"))...)
	}
	if n := s.NetworkData; n != nil && len(n.IPs) <= resourcev1.NetworkDeviceDataMaxIPs {
		for i, ip := range n.IPs {
			errs = append(errs, validation.IsValidInterfaceAddress(path.Child("networkData", "ips").Index(i), ip)...)
		}
	}
	return errs
}

func validateAllocation(a *resourcev1.AllocationResult, names names, path *field.Path) (errs field.ErrorList) {
	devices := path.Child("devices")
	if len(a.Devices.Results) <= resourcev1.AllocationResultsMaxSize {
		for i := range a.Devices.Results {
			r, path := &a.Devices.Results[i], devices.Child("results").Index(i)
			errs = append(errs, names.Validate(r.Request, path.Child("request"))...)
			errs = append(errs, ValidateDeviceName(r.Device, path.Child("device"))...)
			errs = append(errs, validateBindings(r.BindingConditions, r.BindingFailureConditions, path)...)
			errs = append(errs, validateTolerations(r.Tolerations, path.Child("tolerations"))...)
		}
	}
	if len(a.Devices.Config) <= 2*resourcev1.DeviceConfigMaxSize {
		for i := range a.Devices.Config {
			c, path := &a.Devices.Config[i], devices.Child("config").Index(i)
			errs = append(errs, names.validateAll(c.Requests, path.Child("requests"))...)
			errs = append(errs, validateConfiguration(&c.DeviceConfiguration, false, path)...)
		}
	}
	if a.NodeSelector != nil {
		errs = append(errs, podspec.ValidateNodeSelector(a.NodeSelector, false, path.Child("nodeSelector"))...)
	}
	return errs
}

// validateBindings requires conditions of both kinds or of neither, without duplicates.
func validateBindings(conditions, failures []string, path *field.Path) (errs field.ErrorList) {
	good, bad := path.Child("bindingConditions"), path.Child("bindingFailureConditions")
	for _, list := range []struct {
		names []string
		path  *field.Path
		most  int
	}{{conditions, good, resourcev1.BindingConditionsMaxSize}, {failures, bad, resourcev1.BindingFailureConditionsMaxSize}} {
		if len(list.names) > list.most {
			continue
		}
		for i, name := range list.names {
			errs = append(errs, metav1validation.ValidateLabelName(name, list.path.Index(i))...)
		}
	}
	seen, seenBad := sets.New[string](), sets.New[string]()
	for i, name := range conditions {
		if seen.Has(name) {
			errs = append(errs, field.Duplicate(good.Index(i), name))
		}
		seen.Insert(name)
	}
	for i, name := range failures {
		if seenBad.Has(name) {
			errs = append(errs, field.Duplicate(bad.Index(i), name))
		}
		seenBad.Insert(name)
		if seen.Has(name) {
			errs = append(errs, field.Invalid(bad.Index(i), name, "bindingFailureConditions must not overlap with bindingConditions"))
		}
	}
	const both = "%s are required to use %s"
	if len(conditions) == 0 && len(failures) > 0 {
		errs = append(errs, field.Invalid(good, conditions, fmt.Sprintf(both, "bindingConditions", "bindingFailureConditions")))
	}
	if len(failures) == 0 && len(conditions) > 0 {
		errs = append(errs, field.Invalid(bad, failures, fmt.Sprintf(both, "bindingFailureConditions", "bindingConditions")))
	}
	return errs
}
