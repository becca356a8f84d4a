package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// Tolerations holds for how many seconds pods stay on a node that is not ready or unreachable, unless they
// specify it themselves.
type Tolerations struct {
	NotReadySeconds, UnreachableSeconds int64
}

var tolerationsAdded = trace.Because("tolerations-added",
	"the pod does not say how long it stays on a node that is gone: {count} tolerations added",
	"Pod 没有说明节点失联后停留多久：添加 {count} 条容忍度")

// defaultTolerationSeconds makes pods leave a lost node after a while, but not at once.
func defaultTolerationSeconds(t Tolerations) plugin.Plugin {
	return plugin.Plugin{
		Operations: onChanges, About: plugin.Resources("", "pods"),
		Admit: plugin.WithObject(func(_ context.Context, w plugin.Write, pod *corev1.Pod) error {
			var added int64
			for _, wanted := range []struct {
				taint   string
				seconds int64
			}{{corev1.TaintNodeNotReady, t.NotReadySeconds}, {corev1.TaintNodeUnreachable, t.UnreachableSeconds}} {
				if slices.ContainsFunc(pod.Spec.Tolerations,
					func(has corev1.Toleration) bool { return toleratesEviction(has, wanted.taint) }) {
					continue
				}
				added++
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
					Key: wanted.taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
					TolerationSeconds: &wanted.seconds,
				})
			}
			if added == 0 {
				w.Step.Why(pluginLeft)
			} else {
				w.Step.Why(tolerationsAdded, added)
			}
			return nil
		}),
	}
}

// toleratesEviction reports whether a toleration concerns eviction by a taint, whatever its other fields.
func toleratesEviction(t corev1.Toleration, taint string) bool {
	return (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
}

var taintAdded = trace.Because("taint-added",
	"a new node is not ready until its kubelet says so",
	"新节点在 kubelet 报告就绪之前视为未就绪")

// taintNodesByCondition keeps pods off a new node until its kubelet reports that it is ready.
func taintNodesByCondition(*plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onCreate, About: plugin.Resources("", "nodes"),
		Admit: plugin.WithObject(func(_ context.Context, w plugin.Write, node *corev1.Node) error {
			taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
			if slices.ContainsFunc(node.Spec.Taints, func(has corev1.Taint) bool { return has.MatchTaint(&taint) }) {
				w.Step.Why(pluginLeft)
				return nil
			}
			w.Step.Why(taintAdded)
			node.Spec.Taints = append(node.Spec.Taints, taint)
			return nil
		}),
	}
}

var devicesTolerated = trace.Because("devices-tolerated",
	"the pod requests devices and tolerates their taints: {devices:quote}",
	"Pod 请求了设备，因此容忍其污点：{devices:quote}")

// extendedResourceToleration lets pods with a device request run on nodes tainted with the device's name. The
// taint keeps other pods off these nodes.
func extendedResourceToleration(*plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onChanges, About: plugin.Resources("", "pods"),
		Admit: plugin.WithObject(func(_ context.Context, w plugin.Write, pod *corev1.Pod) error {
			var names []string
			for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
				for name := range c.Resources.Requests {
					if podspec.IsExtendedResource(name) {
						names = append(names, string(name))
					}
				}
			}
			if len(names) == 0 {
				w.Step.Why(pluginLeft)
				return nil
			}
			slices.Sort(names)
			names = slices.Compact(names)
			for _, name := range names {
				tolerate(pod, corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
			}
			w.Step.WhyList(devicesTolerated, names)
			return nil
		}),
	}
}

// tolerate adds a toleration to a pod, in place of one for the same taint.
func tolerate(pod *corev1.Pod, wanted corev1.Toleration) {
	same := func(has corev1.Toleration) bool { return wanted.MatchToleration(&has) }
	if i := slices.IndexFunc(pod.Spec.Tolerations, same); i >= 0 {
		pod.Spec.Tolerations[i] = wanted
		return
	}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, wanted)
}
