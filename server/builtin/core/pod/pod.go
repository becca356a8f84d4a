package pod

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// Resource declares pods.
var Resource = builtin.Resource[*corev1.Pod]{
	Names:          builtin.Names{Plural: "pods", Singular: "pod", Short: []string{"po"}, Categories: []string{"all"}},
	List:           &corev1.PodList{},
	Stored:         corev1.SchemeGroupVersion,
	Default:        podspec.SetDefaultsPod,
	Fields:         selectable,
	PrepareCreate:  prepareCreate,
	PrepareUpdate:  prepareUpdate,
	Validate:       validateCreate,
	ValidateUpdate: validateUpdate,
	Warnings:       warnings,
	Spec:           func(pod *corev1.Pod) any { return &pod.Spec },
	Status: &builtin.Status[*corev1.Pod]{
		Of:   func(pod *corev1.Pod) any { return &pod.Status },
		Part: status,
	},
	Sub: []builtin.Sub{
		{Name: "binding", New: builtin.Make(newBindingREST)},
		{Name: "ephemeralcontainers", New: builtin.Make(newEphemeralREST)},
		{Name: "resize", New: builtin.Make(newResizeREST)},
	},
	Sample: `
spec:
  containers: [{name: main, image: nginx}]
  restartPolicy: Always`,
	Columns:             columns,
	Row:                 row,
	Special:             builtin.Specialize(newStrategy),
	ReturnDeletedObject: true,
}

var selectable = []builtin.Field[*corev1.Pod]{
	{Label: "spec.nodeName", Value: func(pod *corev1.Pod) string { return pod.Spec.NodeName }},
	{Label: "spec.host", AliasOf: "spec.nodeName"},
	{Label: "spec.restartPolicy", Value: func(pod *corev1.Pod) string { return string(pod.Spec.RestartPolicy) }},
	{Label: "spec.schedulerName", Value: func(pod *corev1.Pod) string { return pod.Spec.SchedulerName }},
	{Label: "spec.serviceAccountName", Value: func(pod *corev1.Pod) string { return pod.Spec.ServiceAccountName }},
	{Label: "spec.hostNetwork", Value: func(pod *corev1.Pod) string { return strconv.FormatBool(pod.Spec.HostNetwork) }},
	{Label: "status.phase", Value: func(pod *corev1.Pod) string { return string(pod.Status.Phase) }},
	{Label: "status.podIP", Value: firstIP},
	{Label: "status.podIPs"},
	{Label: "status.nominatedNodeName", Value: func(pod *corev1.Pod) string { return pod.Status.NominatedNodeName }},
}

func firstIP(pod *corev1.Pod) string {
	if len(pod.Status.PodIPs) == 0 {
		return ""
	}
	return pod.Status.PodIPs[0].IP
}

func prepareCreate(ctx context.Context, pod *corev1.Pod) {
	podspec.CompletePodResources(&pod.Spec)
	pod.Status.Phase, pod.Status.QOSClass = corev1.PodPending, QOSClass(&pod.Spec)
	podspec.DropDisabledFields(&pod.Spec, nil)
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: metav1.Now(),
		}}
	}
	mergeLabelKeys(pod)
	fillInAppArmor(ctx, pod)
}

// prepareUpdate keeps the pod-level resources if the client leaves them out: it may not know the field.
func prepareUpdate(pod, old *corev1.Pod) {
	if pod.Spec.Resources == nil {
		pod.Spec.Resources = old.Spec.Resources.DeepCopy()
	}
	podspec.DropDisabledFields(&pod.Spec, &old.Spec)
}

// warnings returns warnings about new pods only: hardly any of a pod's spec can change later.
func warnings(pod, old *corev1.Pod) []string {
	if old != nil {
		return nil
	}
	var warnings []string
	if wrong := validation.IsDNS1123Label(pod.Name); len(wrong) > 0 {
		warnings = append(warnings,
			fmt.Sprintf("metadata.name: this is used in the Pod's hostname, "+
				"which can result in surprising behavior; a DNS label is recommended: %v", wrong))
	}
	return append(warnings, podspec.PodWarnings(pod)...)
}
