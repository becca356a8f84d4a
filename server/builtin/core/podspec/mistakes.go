package podspec

import (
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Mistakes holds mistakes that older servers accepted. Updates of a stored object may keep them.
type Mistakes struct {
	DeletionCost       bool
	SelectorValues     bool
	HugePages          bool
	SpreadSelector     bool
	TokenPath          bool
	HostSysctls        bool
	NodeAffinityValues bool
}

// MistakesIn finds the mistakes of a stored object, which its updates may keep. A nil spec has none.
func MistakesIn(spec *corev1.PodSpec, annotations map[string]string) Mistakes {
	if spec == nil {
		return Mistakes{}
	}
	return Mistakes{
		DeletionCost:       !validDeletionCost(annotations),
		SelectorValues:     hasBadAffinitySelector(spec),
		HugePages:          hasOddHugePages(spec),
		SpreadSelector:     hasBadSpreadSelector(spec),
		TokenPath:          hasFarTokenPath(spec),
		HostSysctls:        hasHostSysctl(spec),
		NodeAffinityValues: hasBadNodeAffinityValue(spec),
	}
}

func validDeletionCost(annotations map[string]string) bool {
	value, ok := annotations[corev1.PodDeletionCost]
	if !ok {
		return true
	}
	// Parsers differ on a leading plus or leading zeros, so such texts are not accepted as integers.
	if strings.HasPrefix(value, "+") || len(value) > 1 && value[0] == '0' {
		return false
	}
	_, err := strconv.ParseInt(value, 10, 32)
	return err == nil
}

func hasBadAffinitySelector(spec *corev1.PodSpec) bool {
	for _, term := range affinityTerms(spec) {
		if metav1validation.LabelSelectorHasInvalidLabelValue(term.LabelSelector) ||
			metav1validation.LabelSelectorHasInvalidLabelValue(term.NamespaceSelector) {
			return true
		}
	}
	return false
}

func affinityTerms(spec *corev1.PodSpec) []corev1.PodAffinityTerm {
	if spec.Affinity == nil {
		return nil
	}
	var terms []corev1.PodAffinityTerm
	var weighted []corev1.WeightedPodAffinityTerm
	if a := spec.Affinity.PodAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, a.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if a := spec.Affinity.PodAntiAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, a.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, w := range weighted {
		terms = append(terms, w.PodAffinityTerm)
	}
	return terms
}

func hasOddHugePages(spec *corev1.PodSpec) bool {
	found := false
	VisitContainers(spec, field.NewPath("spec"), func(c *corev1.Container, _ *field.Path) {
		for _, list := range []corev1.ResourceList{c.Resources.Limits, c.Resources.Requests} {
			for name, quantity := range list {
				found = found || IsHugePageResource(name) && !isWholePages(name, quantity)
			}
		}
	})
	return found
}

func hasBadSpreadSelector(spec *corev1.PodSpec) bool {
	for _, c := range spec.TopologySpreadConstraints {
		if len(metav1validation.ValidateLabelSelector(c.LabelSelector, metav1validation.LabelSelectorValidationOptions{}, nil)) > 0 {
			return true
		}
	}
	return false
}

func hasFarTokenPath(spec *corev1.PodSpec) bool {
	for _, v := range spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil && len(localPath(s.ServiceAccountToken.Path, field.NewPath("path"))) > 0 {
				return true
			}
		}
	}
	return false
}

func hasHostSysctl(spec *corev1.PodSpec) bool {
	if spec.SecurityContext == nil {
		return false
	}
	for _, s := range spec.SecurityContext.Sysctls {
		if hostSysctl(spec, s.Name) != "" {
			return true
		}
	}
	return false
}

func hasBadNodeAffinityValue(spec *corev1.PodSpec) bool {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return false
	}
	return HasBadValue(spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
}

// HasBadValue reports whether a selector contains a value that no label can have.
func HasBadValue(selector *corev1.NodeSelector) bool {
	if selector == nil {
		return false
	}
	for _, term := range selector.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			for _, value := range e.Values {
				if len(validation.IsValidLabelValue(value)) > 0 {
					return true
				}
			}
		}
	}
	return false
}

// VisitContainers visits all containers: init containers first, ephemeral ones last.
func VisitContainers(spec *corev1.PodSpec, at *field.Path, visit func(*corev1.Container, *field.Path)) {
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i], at.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i], at.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		visit((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon), at.Child("ephemeralContainers").Index(i))
	}
}

// descendingPath requires a path that stays below its directory.
func descendingPath(value string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if path.IsAbs(value) {
		errs = append(errs, field.Invalid(at, value, "must be a relative path"))
	}
	return append(errs, noBacksteps(value, at)...)
}

// localPath also forbids names that begin with "..": the kubelet uses such names itself.
func localPath(value string, at *field.Path) field.ErrorList {
	errs := descendingPath(value, at)
	if strings.HasPrefix(value, "..") && !strings.HasPrefix(value, "../") {
		errs = append(errs, field.Invalid(at, value, "must not start with '..'"))
	}
	return errs
}

func noBacksteps(value string, at *field.Path) field.ErrorList {
	for _, part := range strings.Split(value, "/") {
		if part == ".." {
			return field.ErrorList{field.Invalid(at, value, "must not contain '..'")}
		}
	}
	return nil
}
