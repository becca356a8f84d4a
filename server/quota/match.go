package quota

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Matches reports whether all scopes of a quota select an object. A quota without scopes selects all.
func Matches(spec *corev1.ResourceQuotaSpec, u *Usage) bool {
	for r := range Selectors(spec) {
		if !u.Selected(r) {
			return false
		}
	}
	return true
}

// Selectors yields the scope selectors of a quota.
func Selectors(spec *corev1.ResourceQuotaSpec) iter.Seq[corev1.ScopedResourceSelectorRequirement] {
	return func(yield func(corev1.ScopedResourceSelectorRequirement) bool) {
		for _, name := range spec.Scopes {
			if !yield(corev1.ScopedResourceSelectorRequirement{ScopeName: name, Operator: corev1.ScopeSelectorOpExists}) {
				return
			}
		}
		if spec.ScopeSelector == nil {
			return
		}
		for _, r := range spec.ScopeSelector.MatchExpressions {
			if !yield(r) {
				return
			}
		}
	}
}

// Selected reports whether a scope selects the object. Only pods and claims have scopes.
func (u *Usage) Selected(r corev1.ScopedResourceSelectorRequirement) bool { return u.scope.matches(r) }

func (s *scope) matches(r corev1.ScopedResourceSelectorRequirement) bool {
	if s.resource == claims {
		return r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass && selects(r, s.volumes)
	}
	if s.resource != pods {
		return false
	}
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return s.terminating
	case corev1.ResourceQuotaScopeNotTerminating:
		return !s.terminating
	case corev1.ResourceQuotaScopeBestEffort:
		return s.bestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !s.bestEffort
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return s.affinity
	case corev1.ResourceQuotaScopePriorityClass:
		if s.priority == "" {
			return selects(r, nil)
		}
		return selects(r, []string{s.priority})
	}
	return false
}

// selects reports whether any of the classes of an object is selected.
func selects(r corev1.ScopedResourceSelectorRequirement, classes []string) bool {
	in := func(class string) bool { return slices.Contains(r.Values, class) }
	switch r.Operator {
	case corev1.ScopeSelectorOpExists:
		return len(classes) > 0
	case corev1.ScopeSelectorOpDoesNotExist:
		return len(classes) == 0
	case corev1.ScopeSelectorOpIn:
		return slices.ContainsFunc(classes, in)
	case corev1.ScopeSelectorOpNotIn:
		return len(classes) == 0 || slices.ContainsFunc(classes, func(class string) bool { return !in(class) })
	}
	return false
}

// Sum returns the usage of a quota. objects yields the usages of a resource, each with its number of objects.
// Sum calls it only for resources that the quota counts and that are served. A name without a served resource
// has no amount.
func Sum(
	spec *corev1.ResourceQuotaSpec, served func(schema.GroupResource) bool, objects func(schema.GroupResource) iter.Seq2[*Usage, int64],
) corev1.ResourceList {
	sum := corev1.ResourceList{}
	counted := slices.DeleteFunc(Resources(spec.Hard), func(r schema.GroupResource) bool { return !served(r) })
	for _, r := range counted {
		for _, name := range Names(r, spec.Hard) {
			sum[name] = resource.Quantity{Format: resource.DecimalSI}
		}
	}
	for _, r := range counted {
		for u, n := range objects(r) {
			if !Matches(spec, u) {
				continue
			}
			for name, each := range u.Amounts {
				if total, ok := sum[name]; ok {
					each = each.DeepCopy()
					each.Mul(n)
					total.Add(each)
					sum[name] = total
				}
			}
		}
	}
	return sum
}
