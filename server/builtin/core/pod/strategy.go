package pod

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

type strategy struct{ builtin.Strategy }

// Strategy is how pods are created, updated and deleted.
var Strategy = strategy{builtin.NewStrategy(true)}

var _ rest.RESTGracefulDeleteStrategy = Strategy

// GetResetFields implements rest.ResetFieldsStrategy.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return builtin.ResetFields("v1", "status")
}

func (strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	pod := obj.(*corev1.Pod)
	pod.Generation = 1
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosClass(&pod.Spec)}
	podspec.DropDisabledFields(&pod.Spec, nil)
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		}}
	}
	mergeLabelKeys(pod)
	syncAppArmor(ctx, pod)
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validateCreate(obj.(*corev1.Pod))
}

func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	pod := obj.(*corev1.Pod)
	var warnings []string
	if wrong := validation.IsDNS1123Label(pod.Name); len(wrong) > 0 {
		warnings = append(warnings, fmt.Sprintf("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", wrong))
	}
	return append(warnings, podspec.PodWarnings(pod)...)
}

func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	pod, oldPod := obj.(*corev1.Pod), old.(*corev1.Pod)
	pod.Status = oldPod.Status
	podspec.DropDisabledFields(&pod.Spec, &oldPod.Spec)
	if !apiequality.Semantic.DeepEqual(pod.Spec, oldPod.Spec) {
		pod.Generation++
	}
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validateUpdate(obj.(*corev1.Pod), old.(*corev1.Pod))
}

// CheckGracefulDelete gives a pod the time that the client or its spec allows. A pod that no kubelet runs goes at once,
// for nobody would confirm that it stopped.
func (strategy) CheckGracefulDelete(_ context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
	if options == nil {
		return false
	}
	pod := obj.(*corev1.Pod)
	period := int64(0)
	switch {
	case pod.Spec.NodeName == "", pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
	case options.GracePeriodSeconds != nil:
		period = *options.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if period < 0 {
		period = 1
	}
	options.GracePeriodSeconds = &period
	return true
}

type statusStrategy struct{ strategy }

// StatusStrategy is how a pod's status is updated.
var StatusStrategy = statusStrategy{Strategy}

// GetResetFields implements rest.ResetFieldsStrategy.
func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return builtin.ResetFields("v1", "spec", "metadata.deletionTimestamp", "metadata.ownerReferences")
}

func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	pod, oldPod := obj.(*corev1.Pod), old.(*corev1.Pod)
	pod.Spec = oldPod.Spec
	pod.DeletionTimestamp = nil
	// Old kubelets send owner references as they remember them, which may be wrong.
	pod.OwnerReferences = oldPod.OwnerReferences
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = oldPod.Status.QOSClass
	}
	keepObservedGenerations(&pod.Status, &oldPod.Status)
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validateStatusUpdate(obj.(*corev1.Pod), old.(*corev1.Pod))
}

func (statusStrategy) WarningsOnUpdate(_ context.Context, obj, _ runtime.Object) []string {
	status := &obj.(*corev1.Pod).Status
	var warnings []string
	for i, ip := range status.PodIPs {
		warnings = append(warnings, validation.GetWarningsForIP(field.NewPath("status", "podIPs").Index(i).Child("ip"), ip.IP)...)
	}
	for i, ip := range status.HostIPs {
		warnings = append(warnings, validation.GetWarningsForIP(field.NewPath("status", "hostIPs").Index(i).Child("ip"), ip.IP)...)
	}
	return warnings
}

// keepObservedGenerations keeps those that a writer who does not know them left out.
func keepObservedGenerations(status, old *corev1.PodStatus) {
	if status.ObservedGeneration == 0 {
		status.ObservedGeneration = old.ObservedGeneration
	}
	known := map[corev1.PodConditionType][]int64{}
	for _, c := range old.Conditions {
		known[c.Type] = append(known[c.Type], c.ObservedGeneration)
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		generations := known[c.Type]
		if len(generations) == 0 {
			continue
		}
		known[c.Type] = generations[1:]
		if c.ObservedGeneration == 0 {
			c.ObservedGeneration = generations[0]
		}
	}
}

// AddToScheme registers defaults and field labels.
func AddToScheme(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&corev1.Pod{}, func(obj any) { podspec.SetDefaultsPod(obj.(*corev1.Pod)) })
	s.AddTypeDefaultingFunc(&corev1.PodList{}, func(obj any) {
		list := obj.(*corev1.PodList)
		for i := range list.Items {
			podspec.SetDefaultsPod(&list.Items[i])
		}
	})
	return builtin.AddFieldLabels(s, corev1.SchemeGroupVersion.WithKind("Pod"), map[string]string{"spec.host": "spec.nodeName"},
		"metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
		"spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs",
		"status.nominatedNodeName")
}

// Attrs is what selectors see of a pod.
func Attrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	pod, err := builtin.As[*corev1.Pod](obj)
	if err != nil {
		return nil, nil, err
	}
	f := builtin.MetaFields(&pod.ObjectMeta, 8)
	f["spec.nodeName"] = pod.Spec.NodeName
	f["spec.restartPolicy"] = string(pod.Spec.RestartPolicy)
	f["spec.schedulerName"] = pod.Spec.SchedulerName
	f["spec.serviceAccountName"] = pod.Spec.ServiceAccountName
	f["spec.hostNetwork"] = strconv.FormatBool(pod.Spec.HostNetwork)
	f["status.phase"] = string(pod.Status.Phase)
	f["status.podIP"] = ""
	if len(pod.Status.PodIPs) > 0 {
		f["status.podIP"] = pod.Status.PodIPs[0].IP
	}
	f["status.nominatedNodeName"] = pod.Status.NominatedNodeName
	return pod.Labels, f, nil
}
