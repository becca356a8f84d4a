package pod

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// mergeLabelKeys adds requirements for the pod's own values of matchLabelKeys to the selectors, so that a scheduler
// has to read only the selectors.
func mergeLabelKeys(pod *corev1.Pod) {
	if a := pod.Spec.Affinity; a != nil {
		if p := a.PodAffinity; p != nil {
			mergeTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
		}
		if p := a.PodAntiAffinity; p != nil {
			mergeTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		mergeKeys(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
	}
}

func mergeTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, labels map[string]string) {
	merge := func(term *corev1.PodAffinityTerm) {
		mergeKeys(term.LabelSelector, term.MatchLabelKeys, metav1.LabelSelectorOpIn, labels)
		mergeKeys(term.LabelSelector, term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, labels)
	}
	for i := range preferred {
		merge(&preferred[i].PodAffinityTerm)
	}
	for i := range required {
		merge(&required[i])
	}
}

// mergeKeys keeps a nil selector, which matches nothing: with a requirement it would match pods.
func mergeKeys(selector *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator, labels map[string]string) {
	if selector == nil {
		return
	}
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			selector.MatchExpressions = append(selector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
		}
	}
}

const appArmorPrefix = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix

// fillInAppArmor copies AppArmor profiles from annotations to the fields, for kubelets that read only the fields.
func fillInAppArmor(ctx context.Context, pod *corev1.Pod) {
	if pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return
	}
	var podProfile *corev1.AppArmorProfile
	if pod.Spec.SecurityContext != nil {
		podProfile = pod.Spec.SecurityContext.AppArmorProfile
	}
	podspec.VisitContainers(&pod.Spec, nil, func(c *corev1.Container, _ *field.Path) {
		key := appArmorPrefix + c.Name
		annotation, annotated := pod.Annotations[key]
		var profile *corev1.AppArmorProfile
		if c.SecurityContext != nil {
			profile = c.SecurityContext.AppArmorProfile
		}
		if !annotated || profile != nil {
			return
		}
		profile = podspec.AppArmorProfile(annotation)
		if profile != nil && reflect.DeepEqual(profile, podProfile) {
			return
		}
		if profile != nil {
			if c.SecurityContext == nil {
				c.SecurityContext = &corev1.SecurityContext{}
			}
			c.SecurityContext.AppArmorProfile = profile
		}
		warning.AddWarning(ctx, "", fmt.Sprintf(`%s: deprecated since v1.30; use the "appArmorProfile" field instead`,
			field.NewPath("metadata", "annotations").Key(key)))
	})
}
