package pod

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// statusList is a list of container statuses with the containers that they describe.
type statusList struct {
	path       *field.Path
	statuses   []corev1.ContainerStatus
	containers []corev1.Container
}

// validateContainerStatuses checks users and devices in the reports of kubelets: first the users of all containers,
// then the devices.
func validateContainerStatuses(pod *corev1.Pod) (errs field.ErrorList) {
	s := &pod.Status
	lists := []statusList{
		{statusPath.Child("containerStatuses"), s.ContainerStatuses, pod.Spec.Containers},
		{statusPath.Child("initContainerStatuses"), s.InitContainerStatuses, pod.Spec.InitContainers},
		{statusPath.Child("ephemeralContainerStatuses"), s.EphemeralContainerStatuses, nil},
	}
	os := corev1.Linux
	if pod.Spec.OS != nil {
		os = pod.Spec.OS.Name
	}
	for _, l := range lists {
		for i, c := range l.statuses {
			if c.User != nil && c.User.Linux != nil {
				errs = append(errs, validateUser(c.User.Linux, os, l.path.Index(i).Child("user", "linux"))...)
			}
		}
	}
	for _, l := range lists[:2] {
		errs = append(errs, l.validateDevices(s.ExtendedResourceClaimStatus)...)
	}
	for i, c := range s.EphemeralContainerStatuses {
		if len(c.AllocatedResourcesStatus) > 0 {
			errs = append(errs,
				field.Forbidden(lists[2].path.Index(i).Child("allocatedResourcesStatus"), "must not be specified in container status"))
		}
	}
	return errs
}

// validateUser checks the identity of a container on Linux. The limit is higher than in a spec: the runtime may
// report IDs that a pod cannot request.
func validateUser(user *corev1.LinuxContainerUser, os corev1.OSName, path *field.Path) (errs field.ErrorList) {
	switch os {
	case corev1.Windows:
		return field.ErrorList{field.Forbidden(path, "cannot be set for a windows pod")}
	case corev1.Linux:
	default:
		return nil
	}
	if user.UID < 0 || user.UID > math.MaxUint32 {
		errs = append(errs,
			field.Invalid(path.Child("uid"), user.UID, fmt.Sprintf("must be between 0 and %d, inclusive", uint32(math.MaxUint32))))
	}
	errs = append(errs, builtin.Invalids(path.Child("gid"), user.GID, validation.IsValidGroupID(user.GID))...)
	for i, gid := range user.SupplementalGroups {
		errs = append(errs, builtin.Invalids(path.Child("supplementalGroups").Index(i), gid, validation.IsValidGroupID(gid))...)
	}
	return errs
}

func (l statusList) validateDevices(extended *corev1.PodExtendedResourceClaimStatus) (errs field.ErrorList) {
	for i, status := range l.statuses {
		// Statuses without a container in the pod are accepted, as by a kube-apiserver.
		index := slices.IndexFunc(l.containers, func(c corev1.Container) bool { return c.Name == status.Name })
		for j, device := range status.AllocatedResourcesStatus {
			path := l.path.Index(i).Child("allocatedResourcesStatus").Index(j)
			if index >= 0 {
				errs = append(errs, validateDeviceName(&l.containers[index], device.Name, extended, path.Child("name"))...)
			}
			errs = append(errs, validateHealth(device.Resources, path.Child("resources"))...)
		}
	}
	return errs
}

const claimPrefix = "claim:"

// validateDeviceName requires that the container requests the device, by a resource request or by a claim.
func validateDeviceName(c *corev1.Container, name corev1.ResourceName, extended *corev1.PodExtendedResourceClaimStatus,
	path *field.Path) field.ErrorList {
	claimed, isClaim := strings.CutPrefix(string(name), claimPrefix)
	if !isClaim {
		if _, requested := c.Resources.Requests[name]; requested {
			return nil
		}
		return field.ErrorList{field.Invalid(path, name, "must match one of the container's resource requests")}
	}
	for _, claim := range c.Resources.Claims {
		if claimed == claim.Name && claim.Request == "" || claim.Request != "" && claimed == claim.Name+"/"+claim.Request {
			return nil
		}
	}
	if isExtended(c, claimed, extended) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name,
		"must match one of the container's resource claims as 'claim:<claimName>/<requestName>' "+
			"when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty")}
}

// isExtended reports whether the claim and its request were made for an extended resource that the container
// requests.
func isExtended(c *corev1.Container, claimed string, extended *corev1.PodExtendedResourceClaimStatus) bool {
	claim, request, _ := strings.Cut(claimed, "/")
	if extended == nil || request == "" || claim != extended.ResourceClaimName {
		return false
	}
	return slices.ContainsFunc(extended.RequestMappings, func(m corev1.ContainerExtendedResourceRequest) bool {
		amount := c.Resources.Requests[corev1.ResourceName(m.ResourceName)]
		return m.ContainerName == c.Name && m.RequestName == request && !amount.IsZero()
	})
}

func validateHealth(resources []corev1.ResourceHealth, path *field.Path) (errs field.ErrorList) {
	known := []corev1.ResourceHealthStatus{corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy,
		corev1.ResourceHealthStatusUnknown}
	seen := sets.New[corev1.ResourceID]()
	for i, r := range resources {
		at := path.Index(i)
		if !slices.Contains(known, r.Health) {
			errs = append(errs, field.NotSupported(at.Child("health"), r.Health, known))
		}
		if m := r.Message; m != nil && *m == "" {
			errs = append(errs, field.Required(at.Child("message"), "must be non-empty if specified"))
		} else if m != nil && len(*m) > corev1.ResourceHealthMessageMaxLength {
			errs = append(errs, field.TooLong(at.Child("message"), *m, corev1.ResourceHealthMessageMaxLength))
		}
		if seen.Has(r.ResourceID) {
			errs = append(errs, field.Duplicate(at.Child("resourceID"), r.ResourceID))
		}
		seen.Insert(r.ResourceID)
	}
	return errs
}
