package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// These functions derive a service's needs from its type.

func needsClusterIP(svc *corev1.Service) bool { return svc.Spec.Type != corev1.ServiceTypeExternalName }

func needsNodePort(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeNodePort || svc.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// wantsNodePorts reports whether ports without a node port get one. A load balancer can opt out.
func wantsNodePorts(svc *corev1.Service) bool {
	allocate := svc.Spec.AllocateLoadBalancerNodePorts
	return !isLoadBalancer(svc) || allocate == nil || *allocate
}

func isLoadBalancer(svc *corev1.Service) bool { return svc.Spec.Type == corev1.ServiceTypeLoadBalancer }

func isHeadless(svc *corev1.Service) bool {
	return len(svc.Spec.ClusterIPs) == 1 && svc.Spec.ClusterIPs[0] == corev1.ClusterIPNone
}

func externallyAccessible(svc *corev1.Service) bool {
	return needsNodePort(svc) || svc.Spec.Type == corev1.ServiceTypeClusterIP && len(svc.Spec.ExternalIPs) > 0
}

func needsHealthCheck(svc *corev1.Service) bool {
	return isLoadBalancer(svc) && svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func sameClusterIPs(a, b *corev1.Service) bool {
	return a.Spec.ClusterIP == b.Spec.ClusterIP && slices.Equal(a.Spec.ClusterIPs, b.Spec.ClusterIPs)
}

func sameValue[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// nodePorts returns the node ports of svc without duplicates.
func nodePorts(svc *corev1.Service) []int32 {
	var ports []int32
	for i := range svc.Spec.Ports {
		if p := svc.Spec.Ports[i].NodePort; p != 0 && !slices.Contains(ports, p) {
			ports = append(ports, p)
		}
	}
	return ports
}

func hasNewNodePort(svc, old *corev1.Service) bool {
	had := nodePorts(old)
	return slices.ContainsFunc(nodePorts(svc), func(p int32) bool { return !slices.Contains(had, p) })
}
