package pod

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	specPath        = field.NewPath("spec")
	annotationsPath = field.NewPath("metadata", "annotations")
)

func validate(pod *corev1.Pod, opts podspec.Options) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&pod.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, podspec.ValidateAnnotations(pod.Annotations, &pod.Spec, annotationsPath, opts)...)
	errs = append(errs, podspec.ValidatePodSpec(&pod.Spec, &pod.ObjectMeta, specPath, opts)...)
	if pod.Spec.ServiceAccountName == "" {
		for i, v := range pod.Spec.Volumes {
			if v.Projected == nil {
				continue
			}
			for j, source := range v.Projected.Sources {
				if source.ServiceAccountToken != nil {
					errs = append(errs,
						field.Forbidden(
							specPath.Child("volumes").Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"),
							"must not be specified when serviceAccountName is not set"))
				}
			}
		}
	}
	errs = append(errs, validateImages(pod.Spec.Containers, specPath.Child("containers"))...)
	return append(errs, validateImages(pod.Spec.InitContainers, specPath.Child("initContainers"))...)
}

// validateImages applies to pods only: images of templates may be filled in later.
func validateImages(containers []corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, c := range containers {
		if strings.TrimSpace(c.Image) != c.Image {
			errs = append(errs, field.Invalid(path.Index(i).Child("image"), c.Image, "must not have leading or trailing whitespace"))
		}
	}
	return errs
}

func validateCreate(pod *corev1.Pod) field.ErrorList {
	errs := validate(pod, podspec.Options{Pod: true})
	if len(pod.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(specPath.Child("ephemeralContainers"), "cannot be set on create"))
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(specPath.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	return append(errs, podspec.ValidateProfilesMatch(&pod.ObjectMeta, &pod.Spec, specPath)...)
}

// updatableFields names the fields of a spec that may change.
var updatableFields = strings.Join([]string{
	"`spec.containers[*].image`",
	"`spec.initContainers[*].image`",
	"`spec.activeDeadlineSeconds`",
	"`spec.tolerations` (only additions to existing tolerations)",
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
}, ",")

func validateUpdate(pod, old *corev1.Pod) field.ErrorList {
	opts := podspec.Options{Pod: true, Tolerated: podspec.MistakesIn(&old.Spec, old.Annotations)}
	errs := builtin.ValidateObjectMetaUpdate(&pod.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validate(pod, opts)...)
	errs = append(errs, validateAnnotationUpdate(pod, old, opts)...)
	for _, list := range []struct {
		name     string
		new, old []corev1.Container
	}{{"containers", pod.Spec.Containers, old.Spec.Containers}, {"initContainers", pod.Spec.InitContainers, old.Spec.InitContainers}} {
		path := specPath.Child(list.name)
		if len(list.new) != len(list.old) {
			return append(errs, field.Forbidden(path, "pod updates may not add or remove containers"))
		}
		for i, c := range list.new {
			if c.Image == "" {
				errs = append(errs, field.Required(path.Index(i).Child("image"), ""))
			}
		}
		errs = append(errs, validateImages(list.new, path)...)
	}
	wrong, stop := validateDeadlineUpdate(pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds)
	if errs = append(errs, wrong...); stop {
		return errs
	}
	errs = append(errs, validateTolerationsUpdate(pod.Spec.Tolerations, old.Spec.Tolerations)...)
	errs = append(errs, validateGatesUpdate(pod.Spec.SchedulingGates, old.Spec.SchedulingGates)...)
	if apiequality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		return errs
	}
	same, gated := withUpdatesUndone(&pod.Spec, &old.Spec)
	errs = append(errs, gated...)
	if !apiequality.Semantic.DeepEqual(*same, old.Spec) {
		errs = append(errs, field.Forbidden(specPath, fmt.Sprintf("pod updates may not change fields other than %s\n%v",
			updatableFields, diff.Diff(builtin.Quote(old.Spec), builtin.Quote(*same)))))
	}
	return errs
}

// withUpdatesUndone returns spec with the old values in all mutable fields: a remaining difference is an error. While
// scheduling gates hold a pod back, its node selector and node affinity are mutable too, within limits; the returned
// errors report changes beyond them.
func withUpdatesUndone(spec, old *corev1.PodSpec) (*corev1.PodSpec, field.ErrorList) {
	same := spec.DeepCopy()
	for i := range same.Containers {
		same.Containers[i].Image = old.Containers[i].Image
	}
	for i := range same.InitContainers {
		same.InitContainers[i].Image = old.InitContainers[i].Image
	}
	same.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	same.Tolerations = old.Tolerations
	same.SchedulingGates = old.SchedulingGates
	if grace := same.TerminationGracePeriodSeconds; grace != nil && *grace == 1 &&
		old.TerminationGracePeriodSeconds != nil && *old.TerminationGracePeriodSeconds < 0 {
		same.TerminationGracePeriodSeconds = old.TerminationGracePeriodSeconds
	}
	if len(old.SchedulingGates) == 0 {
		return same, nil
	}
	var errs field.ErrorList
	if !apiequality.Semantic.DeepEqual(same.NodeSelector, old.NodeSelector) {
		errs = append(errs, validateSelectorUpdate(same.NodeSelector, old.NodeSelector)...)
		same.NodeSelector = old.NodeSelector
	}
	affinity, oldAffinity := nodeAffinity(same), nodeAffinity(old)
	if apiequality.Semantic.DeepEqual(affinity, oldAffinity) {
		return same, errs
	}
	errs = append(errs, validateNodeAffinityUpdate(affinity, oldAffinity)...)
	switch {
	case same.Affinity == nil:
		same.Affinity = &corev1.Affinity{NodeAffinity: oldAffinity}
	case old.Affinity == nil && same.Affinity.PodAffinity == nil && same.Affinity.PodAntiAffinity == nil:
		same.Affinity = nil
	default:
		same.Affinity.NodeAffinity = oldAffinity
	}
	return same, errs
}

func nodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	if spec.Affinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity
}

// validateDeadlineUpdate allows a new or an earlier deadline. With stop, the caller reports no further errors.
func validateDeadlineUpdate(deadline, old *int64) (errs field.ErrorList, stop bool) {
	path := specPath.Child("activeDeadlineSeconds")
	switch {
	case deadline == nil && old != nil:
		return field.ErrorList{field.Invalid(path, deadline, "must not update from a positive integer to nil value")}, false
	case deadline == nil:
		return nil, false
	case *deadline < 0 || *deadline > math.MaxInt32:
		return field.ErrorList{field.Invalid(path, *deadline, validation.InclusiveRangeError(0, math.MaxInt32))}, true
	case old != nil && *old < *deadline:
		return field.ErrorList{field.Invalid(path, *deadline, "must be less than or equal to previous value")}, true
	}
	return nil, false
}

// validateTolerationsUpdate allows new tolerations, and changes of tolerationSeconds.
func validateTolerationsUpdate(tolerations, old []corev1.Toleration) field.ErrorList {
	path := specPath.Child("tolerations")
	kept := make(map[corev1.Toleration]bool, len(tolerations)) // a pod can have 30,000: do not compare each with each
	for _, t := range tolerations {
		t.TolerationSeconds = nil
		kept[t] = true
	}
	for _, was := range old {
		was.TolerationSeconds = nil
		if !kept[was] {
			return field.ErrorList{field.Forbidden(path, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return podspec.ValidateTolerations(tolerations, path)
}

// validateGatesUpdate allows the removal of scheduling gates, but no new ones.
func validateGatesUpdate(gates, old []corev1.PodSchedulingGate) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range gates {
		if !slices.Contains(old, gate) {
			errs = append(errs, field.Forbidden(specPath.Child("schedulingGates").Index(i).Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		}
	}
	return errs
}

func validateSelectorUpdate(selector, old map[string]string) field.ErrorList {
	for key, was := range old {
		if value, ok := selector[key]; !ok || value != was {
			return field.ErrorList{field.Invalid(specPath.Child("nodeSelector"), selector,
				"only additions to spec.nodeSelector are allowed (no mutations or deletions)")}
		}
	}
	return nil
}

// validateNodeAffinityUpdate lets an update restrict a gated pod to fewer nodes, but not move it to others.
func validateNodeAffinityUpdate(affinity, old *corev1.NodeAffinity) field.ErrorList {
	was := requiredTerms(old)
	if len(was) == 0 {
		return nil
	}
	path := specPath.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	terms := requiredTerms(affinity)
	if len(terms) != len(was) {
		return field.ErrorList{field.Invalid(path, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")}
	}
	var errs field.ErrorList
	for i := range was {
		if !onlyAdds(terms[i], was[i]) {
			errs = append(errs, field.Invalid(path.Index(i), terms[i], "only additions are allowed (no mutations or deletions)"))
		}
	}
	return errs
}

func requiredTerms(a *corev1.NodeAffinity) []corev1.NodeSelectorTerm {
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// onlyAdds reports whether term begins with the requirements of was. An empty term must stay empty: it matches no
// node, and with a requirement it could match some.
func onlyAdds(term, was corev1.NodeSelectorTerm) bool {
	if len(was.MatchExpressions)+len(was.MatchFields) == 0 && len(term.MatchExpressions)+len(term.MatchFields) > 0 {
		return false
	}
	return startsWith(term.MatchExpressions, was.MatchExpressions) && startsWith(term.MatchFields, was.MatchFields)
}

func startsWith(list, start []corev1.NodeSelectorRequirement) bool {
	return len(list) >= len(start) && (len(start) == 0 || apiequality.Semantic.DeepEqual(list[:len(start)], start))
}

// validateAnnotationUpdate refuses changes of annotations that kubelets depend on: AppArmor profiles, and the mark of
// a mirror pod.
func validateAnnotationUpdate(pod, old *corev1.Pod, opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	forbid := func(key, verb string) {
		switch {
		case strings.HasPrefix(key, appArmorPrefix):
			errs = append(errs, field.Forbidden(annotationsPath.Key(key), "may not "+verb+" AppArmor annotations"))
		case key == corev1.MirrorPodAnnotationKey:
			errs = append(errs, field.Forbidden(annotationsPath.Key(key), "may not "+verb+" mirror pod annotation"))
		}
	}
	for key, was := range old.Annotations {
		if value, ok := pod.Annotations[key]; !ok || value != was {
			forbid(key, "remove or update")
		}
	}
	for key := range pod.Annotations {
		if _, ok := old.Annotations[key]; !ok {
			forbid(key, "add")
		}
	}
	return append(errs, podspec.ValidateAnnotations(pod.Annotations, &pod.Spec, annotationsPath, opts)...)
}
