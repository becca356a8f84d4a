package service

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

var (
	clusterIPsPath = specPath.Child("clusterIPs")
	familiesPath   = specPath.Child("ipFamilies")
	policyPath     = specPath.Child("ipFamilyPolicy")

	families = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	policies = []corev1.IPFamilyPolicy{corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack,
		corev1.IPFamilyPolicySingleStack}
)

const noChange = "may not change once set"

// familyOf returns the family of a valid address, and "" for an invalid one.
func familyOf(ip string) corev1.IPFamily {
	switch netutils.IPFamilyOfString(ip) {
	case netutils.IPv4:
		return corev1.IPv4Protocol
	case netutils.IPv6:
		return corev1.IPv6Protocol
	}
	return ""
}

// validateClusterIPs checks clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy, by themselves and against each other.
func validateClusterIPs(svc, old *corev1.Service) field.ErrorList {
	if !needsClusterIP(svc) {
		return nil
	}
	errs := validateSingular(svc)
	for i, f := range svc.Spec.IPFamilies {
		errs = append(errs, oneOf(f, families, familiesPath.Index(i))...)
		if slices.Contains(svc.Spec.IPFamilies[:i], f) {
			errs = append(errs, field.Duplicate(familiesPath.Index(i), f))
		}
	}
	if p := svc.Spec.IPFamilyPolicy; p != nil {
		errs = append(errs, oneOf(*p, policies, policyPath)...)
	}
	var had sets.Set[string]
	if old != nil {
		had = sets.New(old.Spec.ClusterIPs...)
	}
	ips := svc.Spec.ClusterIPs
	wrong := false
	for i, ip := range ips {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(ips) > 1 {
				wrong = true
				errs = append(errs, field.Invalid(clusterIPsPath, ips, "'None' must be the first and only value"))
			}
			continue
		}
		bad := validateAddress(ip, clusterIPsPath.Index(i), had)
		wrong = wrong || len(bad) > 0
		errs = append(errs, bad...)
	}
	if len(ips) > 2 {
		errs = append(errs, field.Invalid(clusterIPsPath, ips, "may only hold up to 2 values"))
	}
	if wrong {
		// Errors about the families of invalid addresses would only confuse.
		return errs
	}
	return append(errs, validateFamiliesOfIPs(svc)...)
}

// validateSingular checks that clusterIP is the first of clusterIPs.
func validateSingular(svc *corev1.Service) field.ErrorList {
	ip, ips := svc.Spec.ClusterIP, svc.Spec.ClusterIPs
	switch {
	case ip != "" && len(ips) == 0:
		return field.ErrorList{field.Required(clusterIPsPath, "")}
	case ip != "" && ips[0] != ip:
		return field.ErrorList{field.Invalid(clusterIPsPath, ips, "first value must match `clusterIP`")}
	case ip == "" && len(ips) != 0:
		return field.ErrorList{field.Invalid(clusterIPsPath, ips, "must be empty when `clusterIP` is not specified")}
	}
	return nil
}

func validateFamiliesOfIPs(svc *corev1.Service) (errs field.ErrorList) {
	ips := svc.Spec.ClusterIPs
	if len(ips) > 1 && (len(ips) > 2 || familyOf(ips[0]) == familyOf(ips[1])) {
		errs = append(errs, field.Invalid(clusterIPsPath, ips, "may specify no more than one IP for each IP family"))
	}
	if isHeadless(svc) {
		return errs
	}
	for i, ip := range ips[:min(len(ips), len(svc.Spec.IPFamilies))] {
		if want := svc.Spec.IPFamilies[i]; slices.Contains(families, want) && want != familyOf(ip) {
			errs = append(errs, field.Invalid(clusterIPsPath.Index(i), ip,
				fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%v]`", want, i)))
		}
	}
	return errs
}

// validateClusterIPsUpdate allows a second address to be added and, with SingleStack, removed. No address may change.
func validateClusterIPsUpdate(svc, old *corev1.Service) (errs field.ErrorList) {
	if !needsClusterIP(svc) || !needsClusterIP(old) || isHeadless(svc) && isHeadless(old) {
		return nil
	}
	ips, had := svc.Spec.ClusterIPs, old.Spec.ClusterIPs
	if len(ips) == len(had) {
		for i := range had {
			if ips[i] != had[i] {
				errs = append(errs, field.Invalid(clusterIPsPath.Index(i), ips, noChange))
			}
		}
		return errs
	}
	if len(had) > 0 && len(ips) == 0 {
		errs = append(errs, field.Invalid(clusterIPsPath.Index(0), ips, "primary clusterIP can not be unset"))
	}
	if len(had) > 0 && len(ips) > 0 && ips[0] != had[0] {
		errs = append(errs, field.Invalid(clusterIPsPath.Index(0), ips, noChange))
	}
	if len(had) > len(ips) && len(ips) == 1 && !isSingleStack(svc) {
		errs = append(errs, field.Invalid(policyPath, svc.Spec.IPFamilyPolicy,
			"must be set to 'SingleStack' when releasing the secondary clusterIP"))
	}
	return errs
}

// validateFamiliesUpdate does the same for families. It allows any change for a headless service.
func validateFamiliesUpdate(svc, old *corev1.Service) (errs field.ErrorList) {
	if !needsClusterIP(svc) || !needsClusterIP(old) || isHeadless(svc) || isHeadless(old) {
		return nil
	}
	now, had := svc.Spec.IPFamilies, old.Spec.IPFamilies
	if len(now) == len(had) {
		for i := range had {
			if now[i] != had[i] {
				errs = append(errs, field.Invalid(familiesPath.Index(0), now, noChange))
			}
		}
		return errs
	}
	if len(had) > len(now) && len(svc.Spec.ClusterIPs) == 0 {
		errs = append(errs, field.Invalid(familiesPath.Index(0), now, "primary ipFamily can not be unset"))
	}
	if len(had) > 0 && len(now) > 0 && now[0] != had[0] {
		errs = append(errs, field.Invalid(familiesPath.Index(0), svc.Spec.ClusterIPs, noChange))
	}
	if len(had) > len(now) && len(now) == 1 && !isSingleStack(svc) {
		errs = append(errs, field.Invalid(policyPath, svc.Spec.IPFamilyPolicy,
			"must be set to 'SingleStack' when releasing the secondary ipFamily"))
	}
	return errs
}

func isSingleStack(svc *corev1.Service) bool {
	return svc.Spec.IPFamilyPolicy != nil && *svc.Spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
}
