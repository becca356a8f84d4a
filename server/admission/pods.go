package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	podresource "k8s.io/component-helpers/resource"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

func nodes(kit *plugin.Kit) plugin.Objects[*corev1.Node] {
	return plugin.ObjectsOf[*corev1.Node](kit, corev1.SchemeGroupVersion.WithResource("nodes"))
}

// topology lists the labels that a node passes on to its pods.
var topology = []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion}

var topologyCopied = trace.Because("topology-copied",
	"{count} labels copied from the node {node:quote}",
	"从节点 {node:quote} 复制了 {count} 个标签")

// podTopologyLabels copies the zone and region of a node to pods when they are bound to it.
func podTopologyLabels(kit *plugin.Kit) plugin.Plugin {
	nodes := nodes(kit)
	return plugin.Plugin{
		Operations: onCreate, About: plugin.Resources("", "pods", "pods/binding"),
		Admit: func(ctx context.Context, w plugin.Write) error {
			labels, name := nodeOf(w.GetObject())
			if name == "" {
				w.Step.Why(pluginLeft)
				return nil
			}
			node, found, err := nodes.Get(ctx, "", name)
			if err != nil {
				return err
			}
			var copied int64
			for _, key := range topology {
				value, ok := "", false
				if found {
					value, ok = node.Labels[key]
				}
				if !ok {
					continue
				}
				if *labels == nil {
					*labels = map[string]string{}
				}
				(*labels)[key] = value
				copied++
			}
			w.Step.WhyText(topologyCopied, name, copied)
			return nil
		},
	}
}

// nodeOf returns the node of a pod or of a binding, and the labels to set for the pod.
func nodeOf(obj runtime.Object) (labels *map[string]string, node string) {
	switch o := obj.(type) {
	case *corev1.Pod:
		return &o.Labels, o.Spec.NodeName
	case *corev1.Binding:
		if o.Target.Kind == "Node" {
			return &o.Labels, o.Target.Name
		}
	}
	return nil, ""
}

// Causes in the answer to a refused resize.
const (
	nodeCapacity        metav1.CauseType = "NodeCapacity"
	unsupportedPlatform metav1.CauseType = "UnsupportedPlatform"
)

var nodeHasRoom = trace.Because("node-has-room",
	"the node {node:quote} has room for it",
	"节点 {node:quote} 的资源足够")

// podResizeValidator refuses a resize that exceeds what the pod's node has.
func podResizeValidator(kit *plugin.Kit) plugin.Plugin {
	nodes := nodes(kit)
	return plugin.Plugin{
		Operations: onUpdate, About: plugin.Resources("", "pods/resize"),
		Validate: plugin.WithOld(func(ctx context.Context, w plugin.Write, pod, old *corev1.Pod) error {
			if pod.Spec.NodeName == "" || pod.Generation == old.Generation {
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
			if os, ok := node.Labels[corev1.LabelOSStable]; ok && os != "linux" {
				return refusedFor(unsupportedPlatform, w, "pod resize is only supported on linux nodes, node %q is %q", node.Name, os)
			}
			if lacks := missingResources(pod, node.Status.Allocatable); len(lacks) > 0 {
				return refusedFor(nodeCapacity, w, "node didn't have enough allocatable resources: %s", strings.Join(lacks, "; "))
			}
			w.Step.WhyText(nodeHasRoom, node.Name)
			return nil
		}),
	}
}

// missingResources lists the resources of which a pod requests more than its node has.
func missingResources(pod *corev1.Pod, has corev1.ResourceList) (lacks []string) {
	asks := podresource.PodRequests(pod, podresource.PodResourcesOptions{})
	if asks.Cpu().Cmp(*has.Cpu()) > 0 {
		lacks = append(lacks, fmt.Sprintf("cpu, requested: %d, allocatable: %d", asks.Cpu().MilliValue(), has.Cpu().MilliValue()))
	}
	if asks.Memory().Cmp(*has.Memory()) > 0 {
		lacks = append(lacks, fmt.Sprintf("memory, requested: %d, allocatable: %d", asks.Memory().Value(), has.Memory().Value()))
	}
	return lacks
}

func refusedFor(cause metav1.CauseType, w plugin.Write, format string, args ...any) error {
	err := w.Refusal(format, args...)
	if status := (*apierrors.StatusError)(nil); errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	}
	return err
}

var keepsWithinNode = trace.Because("keeps-within-node",
	"each required anti-affinity term is about single nodes",
	"每个必需的反亲和性条件都只针对单个节点")

// limitPodHardAntiAffinityTopology refuses pods whose anti-affinity covers more than one node, such as a whole
// zone.
func limitPodHardAntiAffinityTopology(*plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onChanges, About: plugin.Resources("", "pods"),
		Validate: plugin.WithObject(func(_ context.Context, w plugin.Write, pod *corev1.Pod) error {
			affinity := pod.Spec.Affinity
			if affinity == nil || affinity.PodAntiAffinity == nil {
				w.Step.Why(pluginLeft)
				return nil
			}
			for _, term := range affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				if term.TopologyKey != corev1.LabelHostname {
					return apierrors.NewForbidden(w.GetResource().GroupResource(), pod.Name, fmt.Errorf(
						"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey %v but only key %v is allowed",
						term.TopologyKey, corev1.LabelHostname))
				}
			}
			w.Step.Why(keepsWithinNode)
			return nil
		}),
	}
}
