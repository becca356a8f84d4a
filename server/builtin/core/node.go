//lint:file-ignore SA1019 Stored nodes may have fields that are deprecated.

package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// Node is the resource nodes: the machines that pods run on.
//
// A kubelet writes most of a node. Unlike other resources, nodes may be created with a status.
var Node = builtin.Resource[*corev1.Node]{
	Names:         builtin.Names{Plural: "nodes", Singular: "node", Short: []string{"no"}},
	List:          &corev1.NodeList{},
	Stored:        corev1.SchemeGroupVersion,
	ClusterScoped: true,
	Default:       setNodeDefaults,
	Fields: []builtin.Field[*corev1.Node]{
		{Label: "spec.unschedulable", Value: func(n *corev1.Node) string { return fmt.Sprint(n.Spec.Unschedulable) }},
	},
	PrepareUpdate:  prepareUpdate,
	Validate:       validateNode,
	ValidateUpdate: validateNodeUpdate,
	Warnings:       nodeWarnings,
	Status: &builtin.Status[*corev1.Node]{
		Of: func(n *corev1.Node) any { return &n.Status },
		Part: builtin.Part[*corev1.Node]{
			Keep:  keepNodeInStatus,
			Check: validateChange,
		},
	},
	Sample: `
spec: {podCIDR: 10.244.0.0/24}
status:
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  addresses: [{type: InternalIP, address: 10.0.0.1}]
  conditions: [{type: Ready, status: "True", reason: KubeletReady}]`,
	Columns: nodeColumns,
	Row:     nodeRow,
	Special: builtin.Specialize(func(s builtin.Strategy) rest.RESTCreateUpdateStrategy { return nodeStrategy{s} }),
}

// setNodeDefaults copies the capacity to the allocatable resources, and makes podCIDR and podCIDRs agree. The older
// field wins if they differ, since older clients write only that one.
func setNodeDefaults(n *corev1.Node) {
	if n.Status.Allocatable == nil && n.Status.Capacity != nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	podspec.RoundUpResources(n.Status.Capacity, n.Status.Allocatable)
	s := &n.Spec
	if s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR) {
		s.PodCIDRs = []string{s.PodCIDR}
	}
	if len(s.PodCIDRs) > 0 {
		s.PodCIDR = s.PodCIDRs[0]
	}
}

func nodeWarnings(n, _ *corev1.Node) []string {
	var messages []string
	if n.Spec.ConfigSource != nil {
		messages = append(messages, "spec.configSource: the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		messages = append(messages, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range n.Spec.PodCIDRs {
		messages = append(messages, validation.GetWarningsForCIDR(podCIDRsPath.Index(i), cidr)...)
	}
	return messages
}
