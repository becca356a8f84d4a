package pod

import (
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var statusPath = field.NewPath("status")

func validateStatusUpdate(pod, old *corev1.Pod) field.ErrorList {
	opts := podspec.Options{Pod: true, Tolerated: podspec.MistakesIn(&old.Spec, old.Annotations)}
	errs := builtin.ValidateObjectMetaUpdate(&pod.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateAnnotationUpdate(pod, old, opts)...)
	for i, c := range pod.Status.Conditions {
		switch c.Type {
		case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized:
			continue
		}
		for _, message := range validation.IsQualifiedName(string(c.Type)) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "conditions").Index(i).Child("Type"), string(c.Type), message))
		}
	}
	if name := pod.Status.NominatedNodeName; name != "" && name != old.Status.NominatedNodeName {
		for _, message := range apivalidation.NameIsDNSSubdomain(name, false) {
			errs = append(errs, field.Invalid(statusPath.Child("nominatedNodeName"), name, message))
		}
	}
	errs = append(errs, apivalidation.ValidateImmutableField(pod.Status.QOSClass, old.Status.QOSClass, statusPath.Child("qosClass"))...)
	errs = append(errs, validateTransitions(pod, old)...)
	errs = append(errs, validateClaimStatuses(pod)...)
	return append(errs, validateIPs(pod)...)
}

// validateTransitions keeps containers that ended for good from running again.
func validateTransitions(pod, old *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	restartable := sets.New[string]()
	for i := range old.Spec.InitContainers {
		if c := &old.Spec.InitContainers[i]; podspec.IsSidecar(c) {
			restartable.Insert(c.Name)
		}
	}
	for _, kind := range []struct {
		name        string
		new, old    []corev1.ContainerStatus
		policy      corev1.RestartPolicy
		restartable sets.Set[string]
	}{
		{"containerStatuses", pod.Status.ContainerStatuses, old.Status.ContainerStatuses, old.Spec.RestartPolicy, ruled(old.Spec.Containers)},
		{"initContainerStatuses", pod.Status.InitContainerStatuses, old.Status.InitContainerStatuses, old.Spec.RestartPolicy,
			restartable.Union(ruled(old.Spec.InitContainers))},
		{"ephemeralContainerStatuses", pod.Status.EphemeralContainerStatuses, old.Status.EphemeralContainerStatuses, corev1.RestartPolicyNever, nil},
	} {
		if kind.policy == corev1.RestartPolicyAlways {
			continue
		}
		for i, was := range kind.old {
			ended := was.State.Terminated
			if ended == nil || ended.ExitCode != 0 && kind.policy == corev1.RestartPolicyOnFailure || kind.restartable.Has(was.Name) {
				continue
			}
			for _, is := range kind.new {
				if is.Name == was.Name && is.State.Terminated == nil {
					errs = append(errs, field.Forbidden(statusPath.Child(kind.name).Index(i).Child("state"), "may not be transitioned to non-terminated state"))
				}
			}
		}
	}
	return errs
}

// ruled are the containers with a restart policy or rules of their own: they may restart whatever the pod's policy is.
func ruled(containers []corev1.Container) sets.Set[string] {
	names := sets.New[string]()
	for _, c := range containers {
		if c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0 {
			names.Insert(c.Name)
		}
	}
	return names
}

func validateClaimStatuses(pod *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, s := range pod.Status.ResourceClaimStatuses {
		path := statusPath.Child("resourceClaimStatuses").Index(i).Child("name")
		if !slices.ContainsFunc(pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.Name == s.Name }) {
			errs = append(errs, field.Invalid(path, s.Name, "must match the name of an entry in `spec.resourceClaims`"))
		}
		if seen.Has(s.Name) {
			errs = append(errs, field.Duplicate(path, s.Name))
		}
		seen.Insert(s.Name)
		if s.ResourceClaimName != nil {
			for _, message := range apivalidation.NameIsDNSSubdomain(*s.ResourceClaimName, false) {
				errs = append(errs, field.Invalid(path, s.ResourceClaimName, message))
			}
		}
	}
	return errs
}

func validateIPs(pod *corev1.Pod) field.ErrorList {
	var podIPs, hostIPs []string
	for _, ip := range pod.Status.PodIPs {
		podIPs = append(podIPs, ip.IP)
	}
	for _, ip := range pod.Status.HostIPs {
		hostIPs = append(hostIPs, ip.IP)
	}
	errs := validateIPList(podIPs, pod.Status.PodIPs, statusPath.Child("podIPs"))
	if len(hostIPs) > 0 && pod.Status.HostIP != hostIPs[0] {
		errs = append(errs, field.Invalid(statusPath.Child("hostIPs").Index(0).Child("ip"), hostIPs[0], "must be equal to `hostIP`"))
	}
	return append(errs, validateIPList(hostIPs, pod.Status.HostIPs, statusPath.Child("hostIPs"))...)
}

// validateIPList requires addresses, at most one of each family.
func validateIPList(ips []string, value any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen, families := sets.New[string](), sets.New[bool]()
	for i, ip := range ips {
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(i), ip, false, nil)...)
		if seen.Has(ip) {
			errs = append(errs, field.Duplicate(path.Index(i), map[string]string{"ip": ip}))
		}
		seen.Insert(ip)
		parsed := net.ParseIP(ip)
		if parsed == nil && len(ips) > 1 {
			errs = append(errs, field.InternalError(path, fmt.Errorf("failed to check for dual stack with error:invalid IP: %v", ip)))
		}
		families.Insert(parsed.To4() != nil)
	}
	if len(ips) > 2 || len(ips) == 2 && len(families) < 2 {
		errs = append(errs, field.Invalid(path, value, "may specify no more than one IP for each IP family"))
	}
	return errs
}
