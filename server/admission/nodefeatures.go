package admission

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/version"
)

var nodeDeclares = trace.Because("node-declares",
	"the node {node:quote} declares the features that the update needs",
	"节点 {node:quote} 声明了此次更新所需的特性")

// nodeDeclaredFeatureValidator refuses an update of a bound pod if it needs a feature that the pod's node does
// not declare.
func nodeDeclaredFeatureValidator(kit *plugin.Kit) plugin.Plugin {
	nodes := nodes(kit)
	here := utilversion.MustParseSemantic(version.Info().GitVersion)
	known := nodedeclaredfeatures.DefaultFramework
	return plugin.Plugin{
		Operations: onUpdate, About: plugin.Resources("", "pods", "pods/resize"),
		When: func(a admission.Attributes) bool { return boundAndChanged(a.GetObject(), a.GetOldObject()) },
		Validate: plugin.WithOld(func(ctx context.Context, w plugin.Write, pod, old *corev1.Pod) error {
			needed, err := known.InferForPodUpdate(infoOf(old), infoOf(pod), here)
			if err != nil {
				return w.Refusal("failed to infer pod capability requirements: %w", err)
			}
			if needed.IsEmpty() {
				w.Step.Why(pluginLeft)
				return nil
			}
			node, found, err := nodes.Get(ctx, "", pod.Spec.NodeName)
			switch {
			case err != nil:
				return w.Refusal("failed to get node %q: %w", pod.Spec.NodeName, err)
			case !found:
				return w.Refusal("node %q not found", pod.Spec.NodeName)
			}
			match, err := known.MatchNode(needed, node)
			if err != nil {
				return w.Refusal("failed to match pod requirements against node %q: %w", node.Name, err)
			}
			if !match.IsMatch {
				return w.Refusal("pod update requires features %s which are not available on node %q",
					strings.Join(match.UnsatisfiedRequirements, ", "), node.Name)
			}
			w.Step.WhyText(nodeDeclares, node.Name)
			return nil
		}),
	}
}

func infoOf(pod *corev1.Pod) *nodedeclaredfeatures.PodInfo {
	return &nodedeclaredfeatures.PodInfo{Spec: &pod.Spec, Status: &pod.Status}
}

// boundAndChanged reports whether a pod has a node, and another spec than before.
func boundAndChanged(obj, old runtime.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	was, wasOK := old.(*corev1.Pod)
	return ok && wasOK && pod.Spec.NodeName != "" && pod.Generation != was.Generation
}
