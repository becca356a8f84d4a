package service

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// clusterFamily is the only family of cluster IPs.
const clusterFamily = corev1.IPv4Protocol

func newInvalid(svc *corev1.Service, errs field.ErrorList) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), svc.Name, errs)
}

// normalizeClusterIPs derives clusterIPs from clusterIP, for clients that know only the older field. It leaves
// contradictions to validation.
func normalizeClusterIPs(svc, old *corev1.Service) {
	s := &svc.Spec
	if old == nil || len(old.Spec.ClusterIPs) == 0 {
		// The service is new, or was stored before the field clusterIPs existed.
		if s.ClusterIP != "" && len(s.ClusterIPs) == 0 {
			s.ClusterIPs = []string{s.ClusterIP}
		}
		return
	}
	if s.ClusterIP == old.Spec.ClusterIP {
		if len(s.ClusterIPs) == 0 {
			s.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
		}
		return
	}
	if !slices.Equal(s.ClusterIPs, old.Spec.ClusterIPs) {
		return
	}
	s.ClusterIPs = nil
	if s.ClusterIP != "" {
		s.ClusterIPs = []string{s.ClusterIP}
	}
}

// patchAllocatedValues restores allocated values that the client left out, so that PUT accepts the manifest that
// created the service.
func patchAllocatedValues(svc, old *corev1.Service) {
	s, was := &svc.Spec, &old.Spec
	if needsClusterIP(svc) && needsClusterIP(old) {
		if s.ClusterIP == "" {
			s.ClusterIP = was.ClusterIP
		}
		if len(s.ClusterIPs) == 0 {
			s.ClusterIPs = slices.Clone(was.ClusterIPs)
		}
	}
	if needsNodePort(svc) && needsNodePort(old) {
		patchNodePorts(svc, old)
	}
	if needsHealthCheck(svc) && needsHealthCheck(old) && s.HealthCheckNodePort == 0 {
		s.HealthCheckNodePort = was.HealthCheckNodePort
	}
}

// patchNodePorts restores the node ports of ports with the same names, unless another port has taken them.
func patchNodePorts(svc, old *corev1.Service) {
	used := nodePorts(svc)
	byName := make(map[string]int32, len(old.Spec.Ports))
	for _, p := range old.Spec.Ports {
		byName[p.Name] = p.NodePort
	}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if had := byName[p.Name]; p.NodePort == 0 && had != 0 && !slices.Contains(used, had) {
			p.NodePort = had
			used = append(used, had)
		}
	}
}

// initFamilies fills in ipFamilyPolicy and ipFamilies, and refuses families that this cluster lacks.
func initFamilies(svc, old *corev1.Service) error {
	if !needsClusterIP(svc) || keepsPreferDualStack(svc, old) {
		return nil
	}
	s := &svc.Spec
	if s.IPFamilyPolicy == nil {
		s.IPFamilyPolicy = new(defaultPolicy(svc, old))
	}
	// The code below relies on valid fields.
	if errs := validateClusterIPs(svc, old); len(errs) > 0 {
		return newInvalid(svc, errs)
	}
	errs := familiesBefore(svc, old)
	for i, ip := range s.ClusterIPs {
		if ip == corev1.ClusterIPNone || i < len(s.IPFamilies) {
			continue
		}
		if f := familyOf(ip); f != clusterFamily {
			errs = append(errs,
				field.Invalid(clusterIPsPath.Index(i), s.ClusterIPs, fmt.Sprintf("%s is not configured on this cluster", f)))
		} else {
			s.IPFamilies = append(s.IPFamilies, f)
		}
	}
	if len(errs) > 0 {
		return newInvalid(svc, errs)
	}
	if s.ClusterIP == corev1.ClusterIPNone && len(s.Selector) == 0 {
		// A headless service without a selector may have families that the cluster lacks: its endpoints are external.
		if len(s.IPFamilies) == 0 {
			s.IPFamilies = []corev1.IPFamily{clusterFamily}
		}
		if len(s.IPFamilies) == 1 && !isSingleStack(svc) {
			s.IPFamilies = append(s.IPFamilies, otherFamily(s.IPFamilies[0]))
		}
		return nil
	}
	if *s.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack {
		errs = append(errs, field.Invalid(policyPath, s.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	for i, f := range s.IPFamilies {
		if f != clusterFamily {
			errs = append(errs, field.Invalid(familiesPath.Index(i), f, "not configured on this cluster"))
		}
	}
	if len(errs) > 0 {
		return newInvalid(svc, errs)
	}
	if len(s.IPFamilies) == 0 {
		s.IPFamilies = []corev1.IPFamily{clusterFamily}
	}
	return nil
}

// keepsPreferDualStack reports whether the policy is PreferDualStack as before, with the same addresses and families.
// Such a service keeps them even if the cluster gains or loses a family.
func keepsPreferDualStack(svc, old *corev1.Service) bool {
	preferDual := corev1.IPFamilyPolicyPreferDualStack
	return old != nil && needsClusterIP(old) &&
		sameValue(svc.Spec.IPFamilyPolicy, &preferDual) && sameValue(old.Spec.IPFamilyPolicy, &preferDual) &&
		slices.Equal(svc.Spec.ClusterIPs, old.Spec.ClusterIPs) && slices.Equal(svc.Spec.IPFamilies, old.Spec.IPFamilies)
}

func defaultPolicy(svc, old *corev1.Service) corev1.IPFamilyPolicy {
	switch {
	case old != nil && old.Spec.IPFamilyPolicy != nil:
		return *old.Spec.IPFamilyPolicy
	case svc.Spec.ClusterIP == corev1.ClusterIPNone && len(svc.Spec.Selector) == 0:
		return corev1.IPFamilyPolicyRequireDualStack
	default:
		return corev1.IPFamilyPolicySingleStack
	}
}

// familiesBefore drops the second address and family of a service that becomes single stack, and checks that the
// policy agrees with the client's change of them.
func familiesBefore(svc, old *corev1.Service) (errs field.ErrorList) {
	s := &svc.Spec
	if old != nil && isSingleStack(svc) {
		if sameClusterIPs(svc, old) && len(s.ClusterIPs) > 1 {
			s.ClusterIPs = s.ClusterIPs[:1]
		}
		if slices.Equal(s.IPFamilies, old.Spec.IPFamilies) && len(s.IPFamilies) > 1 {
			s.IPFamilies = s.IPFamilies[:1]
		}
	}
	if old != nil && !isSingleStack(svc) {
		if len(s.ClusterIPs) == 1 && len(old.Spec.ClusterIPs) == 2 && s.ClusterIPs[0] == old.Spec.ClusterIPs[0] {
			errs = append(errs, field.Invalid(policyPath, s.IPFamilyPolicy, "must be 'SingleStack' to release the secondary cluster IP"))
		}
		if len(s.IPFamilies) == 1 && len(old.Spec.IPFamilies) == 2 && s.IPFamilies[0] == old.Spec.IPFamilies[0] {
			errs = append(errs, field.Invalid(policyPath, s.IPFamilyPolicy, "must be 'SingleStack' to release the secondary IP family"))
		}
	}
	if isSingleStack(svc) {
		const msg = "must be 'RequireDualStack' or 'PreferDualStack' when multiple %s are specified"
		if len(s.ClusterIPs) == 2 {
			errs = append(errs, field.Invalid(policyPath, s.IPFamilyPolicy, fmt.Sprintf(msg, "cluster IPs")))
		}
		if len(s.IPFamilies) == 2 {
			errs = append(errs, field.Invalid(policyPath, s.IPFamilyPolicy, fmt.Sprintf(msg, "IP families")))
		}
	}
	return errs
}

func otherFamily(f corev1.IPFamily) corev1.IPFamily {
	if f == corev1.IPv4Protocol {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}
