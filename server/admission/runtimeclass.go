package admission

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

var (
	runtimeClassFound = trace.Because("runtime-class-found",
		"the runtime class {class:quote} says what it costs, and where it can run",
		"RuntimeClass {class:quote} 规定了开销和可运行的节点")
	overheadRight = trace.Because("overhead-right",
		"the overhead is that of the runtime class",
		"开销与 RuntimeClass 一致")
)

// runtimeClass sets the overhead and the node selection of pods from their RuntimeClass.
func runtimeClass(kit *plugin.Kit) plugin.Plugin {
	classes := plugin.ObjectsOf[*nodev1.RuntimeClass](kit, nodev1.SchemeGroupVersion.WithResource("runtimeclasses"))
	// of returns an empty class for a pod that names none.
	of := func(ctx context.Context, w plugin.Write, pod *corev1.Pod) (*nodev1.RuntimeClass, error) {
		if pod.Spec.RuntimeClassName == nil {
			return &nodev1.RuntimeClass{}, nil
		}
		class, found, err := classes.Get(ctx, "", *pod.Spec.RuntimeClassName)
		if err == nil && !found {
			err = w.Refusal("pod rejected: RuntimeClass %q not found", *pod.Spec.RuntimeClassName)
		}
		return class, err
	}
	return plugin.Plugin{
		Operations: onCreate, About: plugin.Resources("", "pods"),
		Admit: plugin.WithObject(func(ctx context.Context, w plugin.Write, pod *corev1.Pod) error {
			class, err := of(ctx, w, pod)
			if err != nil {
				return err
			}
			if class.Name == "" {
				w.Step.Why(pluginLeft)
				return nil
			}
			w.Step.WhyText(runtimeClassFound, class.Name)
			return applyRuntimeClass(w, pod, class.DeepCopy())
		}),
		// Another plugin may have changed the pod since.
		Validate: plugin.WithObject(func(ctx context.Context, w plugin.Write, pod *corev1.Pod) error {
			class, err := of(ctx, w, pod)
			switch {
			case err != nil:
				return err
			case class.Overhead == nil && pod.Spec.Overhead != nil:
				return w.Refusal("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
			case class.Overhead != nil && !apiequality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead):
				return w.Refusal("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
			}
			w.Step.Why(overheadRight)
			return nil
		}),
	}
}

func applyRuntimeClass(w plugin.Write, pod *corev1.Pod, class *nodev1.RuntimeClass) error {
	if class.Overhead != nil {
		if len(pod.Spec.Overhead) > 0 && !apiequality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return w.Refusal("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
		}
		pod.Spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return nil
	}
	for key, value := range class.Scheduling.NodeSelector {
		if given, ok := pod.Spec.NodeSelector[key]; ok && given != value {
			return w.Refusal("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, value,
				key, given)
		}
	}
	if pod.Spec.NodeSelector == nil {
		pod.Spec.NodeSelector = class.Scheduling.NodeSelector
	} else {
		maps.Copy(pod.Spec.NodeSelector, class.Scheduling.NodeSelector)
	}
	pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, class.Scheduling.Tolerations)
	return nil
}
