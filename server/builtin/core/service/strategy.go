package service

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func warnings(svc, _ *corev1.Service) []string {
	var w []string
	if _, ok := svc.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; ok {
		w = append(w, fmt.Sprintf("annotation %s is deprecated, please use %s instead",
			corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	spec := field.NewPath("spec")
	if isHeadless(svc) {
		if svc.Spec.LoadBalancerIP != "" {
			w = append(w, "spec.loadBalancerIP is ignored for headless services")
		}
		if len(svc.Spec.ExternalIPs) > 0 {
			w = append(w, "spec.externalIPs is ignored for headless services")
		}
		if svc.Spec.SessionAffinity != corev1.ServiceAffinityNone {
			w = append(w, "spec.SessionAffinity is ignored for headless services")
		}
	} else {
		for i, ip := range svc.Spec.ClusterIPs {
			w = append(w, validation.GetWarningsForIP(spec.Child("clusterIPs").Index(i), ip)...)
		}
	}
	for i, ip := range svc.Spec.ExternalIPs {
		w = append(w, validation.GetWarningsForIP(spec.Child("externalIPs").Index(i), ip)...)
	}
	externalName := svc.Spec.Type == corev1.ServiceTypeExternalName
	if len(svc.Spec.ExternalIPs) > 0 && !isHeadless(svc) && !externalName {
		w = append(w, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if svc.Spec.LoadBalancerIP != "" {
		w = append(w, validation.GetWarningsForIP(spec.Child("loadBalancerIP"), svc.Spec.LoadBalancerIP)...)
	}
	for i, sources := range svc.Spec.LoadBalancerSourceRanges {
		if strings.TrimSpace(sources) == sources { // spaces are valid here, and the form behind them is not looked at
			w = append(w, validation.GetWarningsForCIDR(spec.Child("loadBalancerSourceRanges").Index(i), sources)...)
		}
	}
	if externalName && len(svc.Spec.ExternalIPs) > 0 {
		w = append(w, fmt.Sprintf("spec.externalIPs is ignored when spec.type is %q", corev1.ServiceTypeExternalName))
	}
	if !externalName && svc.Spec.ExternalName != "" {
		w = append(w, fmt.Sprintf("spec.externalName is ignored when spec.type is not %q", corev1.ServiceTypeExternalName))
	}
	if d := svc.Spec.TrafficDistribution; d != nil && *d == corev1.ServiceTrafficDistributionPreferClose {
		w = append(w,
			fmt.Sprintf("spec.trafficDistribution: %q is deprecated; use %q", *d, corev1.ServiceTrafficDistributionPreferSameZone))
	}
	return w
}

// dropTypeDependentFields clears fields that do not apply to the new type of a service. If the client changed such a
// field too, it stays, and validation refuses it.
func dropTypeDependentFields(svc, old *corev1.Service) {
	if needsClusterIP(old) && !needsClusterIP(svc) {
		if sameClusterIPs(svc, old) {
			svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "", nil
		}
		if slices.Equal(svc.Spec.IPFamilies, old.Spec.IPFamilies) {
			svc.Spec.IPFamilies = nil
		}
		if sameValue(svc.Spec.IPFamilyPolicy, old.Spec.IPFamilyPolicy) {
			svc.Spec.IPFamilyPolicy = nil
		}
	}
	if needsNodePort(old) && !needsNodePort(svc) && !hasNewNodePort(svc, old) {
		for i := range svc.Spec.Ports {
			svc.Spec.Ports[i].NodePort = 0
		}
	}
	if needsHealthCheck(old) && !needsHealthCheck(svc) && svc.Spec.HealthCheckNodePort == old.Spec.HealthCheckNodePort {
		svc.Spec.HealthCheckNodePort = 0
	}
	if isLoadBalancer(old) && !isLoadBalancer(svc) {
		if sameValue(svc.Spec.AllocateLoadBalancerNodePorts, old.Spec.AllocateLoadBalancerNodePorts) {
			svc.Spec.AllocateLoadBalancerNodePorts = nil
		}
		if sameValue(svc.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass) {
			svc.Spec.LoadBalancerClass = nil
		}
	}
	if externallyAccessible(old) && !externallyAccessible(svc) && svc.Spec.ExternalTrafficPolicy == old.Spec.ExternalTrafficPolicy {
		svc.Spec.ExternalTrafficPolicy = ""
	}
	if !isLoadBalancer(svc) {
		svc.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

// statusWarnings reports addresses of load balancers in unusual forms.
func statusWarnings(svc *corev1.Service) (w []string) {
	for i, in := range svc.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			w = append(w, validation.GetWarningsForIP(field.NewPath("status", "loadBalancer", "ingress").Index(i), in.IP)...)
		}
	}
	return w
}
