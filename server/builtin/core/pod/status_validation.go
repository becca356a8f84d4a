package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var statusPath = field.NewPath("status")

func validateStatusUpdate(pod, old *corev1.Pod) field.ErrorList {
	opts := podspec.Options{Pod: true, Tolerated: podspec.MistakesIn(&old.Spec, old.Annotations)}
	errs := builtin.ValidateObjectMetaUpdate(&pod.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateAnnotationUpdate(pod, old, opts)...)
	errs = append(errs, validateConditions(pod.Status.Conditions)...)
	errs = append(errs, validateNominatedNode(pod, old)...)
	if g := pod.Status.ObservedGeneration; g < 0 {
		errs = append(errs, field.Invalid(statusPath.Child("observedGeneration"), g, notNegative))
	}
	errs = append(errs, apivalidation.ValidateImmutableField(pod.Status.QOSClass, old.Status.QOSClass, statusPath.Child("qosClass"))...)
	errs = append(errs, validateTransitions(pod, old)...)
	errs = append(errs, validateClaimStatuses(pod)...)
	errs = append(errs, validateExtendedClaim(pod)...)
	errs = append(errs, validateIPs(pod, old)...)
	return append(errs, validateContainerStatuses(pod)...)
}

const notNegative = "must be a non-negative integer"

func validateConditions(conditions []corev1.PodCondition) (errs field.ErrorList) {
	for i, c := range conditions {
		path := statusPath.Child("conditions").Index(i)
		if c.ObservedGeneration < 0 {
			errs = append(errs, field.Invalid(path.Child("observedGeneration"), c.ObservedGeneration, notNegative))
		}
		switch c.Type {
		case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized:
			continue
		}
		errs = append(errs, builtin.Invalids(path.Child("Type"), string(c.Type), validation.IsQualifiedName(string(c.Type)))...)
	}
	return errs
}

// validateNominatedNode checks a new nomination. It refuses one for a pod that has a node.
func validateNominatedNode(pod, old *corev1.Pod) field.ErrorList {
	name, path := pod.Status.NominatedNodeName, statusPath.Child("nominatedNodeName")
	if name == "" || name == old.Status.NominatedNodeName {
		return nil
	}
	errs := builtin.Invalids(path, name, apivalidation.NameIsDNSSubdomain(name, false))
	if old.Spec.NodeName != "" {
		errs = append(errs, field.Forbidden(path, "may not be set on pods that are already bound to a node"))
	}
	return errs
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
		{"containerStatuses", pod.Status.ContainerStatuses, old.Status.ContainerStatuses, old.Spec.RestartPolicy,
			ruled(old.Spec.Containers)},
		{"initContainerStatuses", pod.Status.InitContainerStatuses, old.Status.InitContainerStatuses, old.Spec.RestartPolicy,
			restartable.Union(ruled(old.Spec.InitContainers))},
		{"ephemeralContainerStatuses", pod.Status.EphemeralContainerStatuses, old.Status.EphemeralContainerStatuses,
			corev1.RestartPolicyNever, nil},
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
					errs = append(errs,
						field.Forbidden(statusPath.Child(kind.name).Index(i).Child("state"),
							"may not be transitioned to non-terminated state"))
				}
			}
		}
	}
	return errs
}

// ruled returns the names of containers with a restart policy or rules of their own: they may restart whatever the
// pod's policy is.
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
		at := statusPath.Child("resourceClaimStatuses").Index(i)
		path := at.Child("name")
		if !slices.ContainsFunc(pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.Name == s.Name }) {
			errs = append(errs, field.Invalid(path, s.Name, "must match the name of an entry in `spec.resourceClaims`"))
		}
		if seen.Has(s.Name) {
			errs = append(errs, field.Duplicate(path, s.Name))
		}
		seen.Insert(s.Name)
		if s.ResourceClaimName != nil {
			errs = append(errs, builtin.Invalids(at.Child("resourceClaimName"), s.ResourceClaimName,
				apivalidation.NameIsDNSSubdomain(*s.ResourceClaimName, false))...)
		}
	}
	return errs
}

// validateExtendedClaim checks the claim that was made for the extended resources of the pod's containers.
func validateExtendedClaim(pod *corev1.Pod) field.ErrorList {
	claim := pod.Status.ExtendedResourceClaimStatus
	if claim == nil {
		return nil
	}
	var errs field.ErrorList
	path := statusPath.Child("extendedResourceClaimStatus")
	mappings, namePath := path.Child("requestMappings"), path.Child("resourceClaimName")
	if len(claim.RequestMappings) == 0 {
		errs = append(errs, field.Required(mappings, "at least one request mapping is required"))
	}
	seen := sets.New[corev1.ContainerExtendedResourceRequest]()
	for i, m := range claim.RequestMappings {
		at := mappings.Index(i)
		errs = append(errs, validateMappedContainer(pod, m, at)...)
		// The next error names a field that does not exist. A kube-apiserver names the same.
		errs = append(errs, builtin.Invalids(path.Child("requestName"), m.RequestName, validation.IsDNS1123Label(m.RequestName))...)
		if seen.Has(m) {
			errs = append(errs, field.Duplicate(at.Child("containerName"), m.ContainerName),
				field.Duplicate(at.Child("resourceName"), m.ResourceName), field.Duplicate(at.Child("requestName"), m.RequestName))
		}
		seen.Insert(m)
	}
	if claim.ResourceClaimName == "" {
		return append(errs, field.Required(namePath, ""))
	}
	return append(errs,
		builtin.Invalids(namePath, claim.ResourceClaimName, apivalidation.NameIsDNSSubdomain(claim.ResourceClaimName, false))...)
}

// validateMappedContainer requires that the container of a mapping exists and requests its resource.
func validateMappedContainer(pod *corev1.Pod, m corev1.ContainerExtendedResourceRequest, at *field.Path) field.ErrorList {
	var container *corev1.Container
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == m.ContainerName {
			container = &c
		}
	}
	if container == nil {
		return field.ErrorList{field.Invalid(at.Child("containerName"), m.ContainerName,
			"must match the name of an entry in spec.initContainers.name or spec.containers.name")}
	}
	if _, requested := container.Resources.Requests[corev1.ResourceName(m.ResourceName)]; !requested {
		return field.ErrorList{field.Invalid(at.Child("resourceName"), m.ResourceName,
			"must match the extended resource name of an entry in "+
				"spec.initContainers.resources.requests or spec.containers.resources.requests")}
	}
	return nil
}

func validateIPs(pod, old *corev1.Pod) field.ErrorList {
	podIPs, hostIPs := texts(pod.Status.PodIPs), hostTexts(pod.Status.HostIPs)
	path := statusPath.Child("podIPs")
	errs := validateIPList(podIPs, texts(old.Status.PodIPs), pod.Status.PodIPs, path)
	switch ip := pod.Status.PodIP; {
	case (ip != "") != (len(podIPs) > 0):
		errs = append(errs,
			field.Invalid(path, builtin.Quote(pod.Status.PodIPs), "podIP and podIPs must either both be set or both be unset"))
	case ip != "" && ip != podIPs[0]:
		errs = append(errs, field.Invalid(path.Index(0).Child("ip"), podIPs[0], "must be equal to `podIP`"))
	}
	if len(hostIPs) == 0 {
		return errs
	}
	path = statusPath.Child("hostIPs")
	if pod.Status.HostIP != hostIPs[0] {
		errs = append(errs, field.Invalid(path.Index(0).Child("ip"), hostIPs[0], "must be equal to `hostIP`"))
	}
	return append(errs, validateIPList(hostIPs, hostTexts(old.Status.HostIPs), pod.Status.HostIPs, path)...)
}

func texts(ips []corev1.PodIP) (all []string) {
	for _, ip := range ips {
		all = append(all, ip.IP)
	}
	return all
}

func hostTexts(ips []corev1.HostIP) (all []string) {
	for _, ip := range ips {
		all = append(all, ip.IP)
	}
	return all
}

// validateIPList requires valid addresses, at most one of each family. Addresses of the stored pod may keep an old
// spelling.
func validateIPList(ips, had []string, value any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, ip := range ips {
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(i), ip, true, had)...)
	}
	if len(ips) < 2 {
		return errs
	}
	dualStack, err := netutils.IsDualStackIPStrings(ips)
	if err != nil {
		errs = append(errs, field.InternalError(path, fmt.Errorf("failed to check for dual stack with error:%w", err)))
	}
	if !dualStack || len(ips) > 2 {
		errs = append(errs, field.Invalid(path, builtin.Quote(value), "may specify no more than one IP for each IP family"))
	}
	return errs
}
