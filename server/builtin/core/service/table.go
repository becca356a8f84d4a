package service

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kx-apiserver/kx/server/builtin"
)

var docs = corev1.ServiceSpec{}.SwaggerDoc()

var columns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Type", Type: "string", Description: docs["type"]},
	{Name: "Cluster-IP", Type: "string", Description: docs["clusterIP"]},
	{Name: "External-IP", Type: "string", Description: docs["externalIPs"]},
	{Name: "Port(s)", Type: "string", Description: docs["ports"]},
	builtin.AgeColumn,
	{Name: "Selector", Type: "string", Priority: 1, Description: docs["selector"]},
}

func row(svc *corev1.Service) metav1.TableRow {
	internal := "<none>"
	if len(svc.Spec.ClusterIPs) > 0 {
		internal = svc.Spec.ClusterIPs[0]
	}
	return builtin.Row(svc.Name, string(svc.Spec.Type), internal, external(svc), ports(svc), builtin.Age(svc.CreationTimestamp),
		labels.FormatLabels(svc.Spec.Selector))
}

func external(svc *corev1.Service) string {
	switch svc.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		if len(svc.Spec.ExternalIPs) > 0 {
			return strings.Join(svc.Spec.ExternalIPs, ",")
		}
		return "<none>"
	case corev1.ServiceTypeLoadBalancer:
		if all := append(balancers(svc), svc.Spec.ExternalIPs...); len(all) > 0 {
			return strings.Join(all, ",")
		}
		return "<pending>"
	case corev1.ServiceTypeExternalName:
		return svc.Spec.ExternalName
	}
	return "<unknown>"
}

// balancers returns the addresses or names of svc's load balancers, sorted and without duplicates.
func balancers(svc *corev1.Service) []string {
	var all []string
	for _, in := range svc.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			all = append(all, in.IP)
		} else if in.Hostname != "" {
			all = append(all, in.Hostname)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func ports(svc *corev1.Service) string {
	if len(svc.Spec.Ports) == 0 {
		return "<none>"
	}
	all := make([]string, len(svc.Spec.Ports))
	for i, p := range svc.Spec.Ports {
		if p.NodePort > 0 {
			all[i] = fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
		} else {
			all[i] = fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		}
	}
	return strings.Join(all, ",")
}
