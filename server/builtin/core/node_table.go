package core

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	nodeStatusDocs = corev1.NodeStatus{}.SwaggerDoc()
	infoDocs       = corev1.NodeSystemInfo{}.SwaggerDoc()
)

var nodeColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Status", Type: "string", Description: "The status of the node"},
	{Name: "Roles", Type: "string", Description: "The roles of the node"},
	builtin.AgeColumn,
	{Name: "Version", Type: "string", Description: infoDocs["kubeletVersion"]},
	{Name: "Internal-IP", Type: "string", Priority: 1, Description: nodeStatusDocs["addresses"]},
	{Name: "External-IP", Type: "string", Priority: 1, Description: nodeStatusDocs["addresses"]},
	{Name: "OS-Image", Type: "string", Priority: 1, Description: infoDocs["osImage"]},
	{Name: "Kernel-Version", Type: "string", Priority: 1, Description: infoDocs["kernelVersion"]},
	{Name: "Container-Runtime", Type: "string", Priority: 1, Description: infoDocs["containerRuntimeVersion"]},
}

func nodeRow(n *corev1.Node) metav1.TableRow {
	info := n.Status.NodeInfo
	kernel := orUnknown(info.KernelVersion)
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return builtin.Row(n.Name, status(n), nodeRoles(n), builtin.Age(n.CreationTimestamp), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		orUnknown(info.OSImage), kernel, orUnknown(info.ContainerRuntimeVersion))
}

// status returns the node's readiness, by its last condition Ready, and whether it accepts pods.
func status(n *corev1.Node) string {
	text := "Unknown"
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			text = "Ready"
		default:
			text = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		text += ",SchedulingDisabled"
	}
	return text
}

// nodeRoles reads the roles from labels: from the key of the newer form, or the value of the older form.
func nodeRoles(n *corev1.Node) string {
	all := sets.New[string]()
	for key, value := range n.Labels {
		if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok && role != "" {
			all.Insert(role)
		} else if key == "kubernetes.io/role" && value != "" {
			all.Insert(value)
		}
	}
	if len(all) == 0 {
		return "<none>"
	}
	return strings.Join(sets.List(all), ",")
}

func nodeAddress(n *corev1.Node, of corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == of {
			return a.Address
		}
	}
	return "<none>"
}

func orUnknown(text string) string {
	if text == "" {
		return "<unknown>"
	}
	return text
}
