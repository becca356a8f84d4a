package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const mustBePositive = "must be greater than zero"

// ValidateTolerations checks a pod's tolerations of nodes' taints.
func ValidateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, t := range tolerations {
		at := path.Index(i)
		if t.Key != "" {
			errs = append(errs, metav1validation.ValidateLabelName(t.Key, at.Child("key"))...)
		} else if t.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		operator := at.Child("operator")
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			if wrong := validation.IsValidLabelValue(t.Value); len(wrong) > 0 {
				errs = append(errs, field.Invalid(operator, t.Value, strings.Join(wrong, ";")))
			}
		case corev1.TolerationOpExists:
			if t.Value != "" {
				errs = append(errs, field.Invalid(operator, t.Value, "value must be empty when `operator` is 'Exists'"))
			}
		default:
			errs = append(errs, supportedOrEmpty(operator, t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)...)
		}
		if t.Effect != "" {
			errs = append(errs, supportedOrEmpty(at.Child("effect"), t.Effect,
				corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		}
	}
	return errs
}

func (v *validator) validateReadinessGates(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range v.spec.ReadinessGates {
		name := string(gate.ConditionType)
		errs = append(errs, invalid(path.Index(i).Child("conditionType"), name, validation.IsQualifiedName(name))...)
	}
	return errs
}

func (v *validator) validateSchedulingGates(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, gate := range v.spec.SchedulingGates {
		errs = append(errs, invalid(path.Index(i), gate.Name, validation.IsQualifiedName(gate.Name))...)
		if seen.Has(gate.Name) {
			errs = append(errs, field.Duplicate(path.Index(i), gate.Name))
		}
		seen.Insert(gate.Name)
	}
	return errs
}

func (v *validator) validateTopologySpread(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	constraints := v.spec.TopologySpreadConstraints
	for i := range constraints {
		c, at := &constraints[i], path.Index(i)
		if c.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(at.Child("maxSkew"), c.MaxSkew, mustBePositive))
		}
		if c.TopologyKey == "" {
			errs = append(errs, field.Required(at.Child("topologyKey"), "can not be empty"))
		}
		errs = append(errs,
			supportedOrEmpty(at.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)...)
		for _, later := range constraints[i+1:] {
			if c.TopologyKey == later.TopologyKey && c.WhenUnsatisfiable == later.WhenUnsatisfiable {
				errs = append(errs,
					field.Duplicate(at.Child("{topologyKey, whenUnsatisfiable}"),
						fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)))
				break
			}
		}
		if c.MinDomains != nil {
			if *c.MinDomains <= 0 {
				errs = append(errs, field.Invalid(at.Child("minDomains"), c.MinDomains, mustBePositive))
			}
			if c.WhenUnsatisfiable != corev1.DoNotSchedule {
				errs = append(errs, field.Invalid(at.Child("minDomains"), c.MinDomains,
					fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, c.WhenUnsatisfiable)))
			}
		}
		for _, p := range []struct {
			name   string
			policy *corev1.NodeInclusionPolicy
		}{{"nodeAffinityPolicy", c.NodeAffinityPolicy}, {"nodeTaintsPolicy", c.NodeTaintsPolicy}} {
			if p.policy != nil {
				errs = append(errs,
					supportedOrEmpty(at.Child(p.name), *p.policy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)...)
			}
		}
		errs = append(errs, validateSpreadKeys(c, at.Child("matchLabelKeys"))...)
		if !v.Tolerated.SpreadSelector {
			errs = append(errs,
				metav1validation.ValidateLabelSelector(c.LabelSelector, metav1validation.LabelSelectorValidationOptions{},
					at.Child("labelSelector"))...)
		}
	}
	return errs
}

func validateSpreadKeys(c *corev1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	errs := validateKeys(c.MatchLabelKeys, c.LabelSelector, path)
	return append(errs, keysSelectedTwice(c.MatchLabelKeys, c.LabelSelector, path)...)
}
