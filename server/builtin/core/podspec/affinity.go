package podspec

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	requiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

func (v *validator) validateAffinity(path *field.Path) field.ErrorList {
	a := v.spec.Affinity
	if a == nil {
		return nil
	}
	var errs field.ErrorList
	if n := a.NodeAffinity; n != nil {
		at := path.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			errs = append(errs, v.validateNodeSelector(n.RequiredDuringSchedulingIgnoredDuringExecution, at.Child(requiredTerms))...)
		}
		for i, term := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			p := at.Child(preferredTerms).Index(i)
			errs = append(errs, validateWeight(term.Weight, p)...)
			// Values that no label can have are allowed here: a preferred term that matches no node does no harm.
			errs = append(errs, validateNodeTerm(term.Preference, true, p.Child("preference"))...)
		}
	}
	if p := a.PodAffinity; p != nil {
		errs = append(errs, v.validatePodTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity"))...)
	}
	if p := a.PodAntiAffinity; p != nil {
		errs = append(errs, v.validatePodTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity"))...)
	}
	return errs
}

func validateWeight(weight int32, path *field.Path) field.ErrorList {
	if weight <= 0 || weight > 100 {
		return field.ErrorList{field.Invalid(path.Child("weight"), weight, "must be in the range 1-100")}
	}
	return nil
}

func (v *validator) validateNodeSelector(s *corev1.NodeSelector, path *field.Path) field.ErrorList {
	return ValidateNodeSelector(s, v.Tolerated.NodeAffinityValues, path)
}

// ValidateNodeSelector requires at least one term. anyValue allows values that no label can have.
func ValidateNodeSelector(s *corev1.NodeSelector, anyValue bool, path *field.Path) field.ErrorList {
	terms := path.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	}
	var errs field.ErrorList
	for i, term := range s.NodeSelectorTerms {
		errs = append(errs, validateNodeTerm(term, anyValue, terms.Index(i))...)
	}
	return errs
}

func validateNodeTerm(term corev1.NodeSelectorTerm, anyValue bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, r := range term.MatchExpressions {
		errs = append(errs, validateNodeExpression(r, anyValue, path.Child("matchExpressions").Index(i))...)
	}
	for i, r := range term.MatchFields {
		errs = append(errs, validateNodeField(r, path.Child("matchFields").Index(i))...)
	}
	return errs
}

func validateNodeExpression(r corev1.NodeSelectorRequirement, anyValue bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	values := path.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(values, "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, field.Forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	errs = append(errs, metav1validation.ValidateLabelName(r.Key, path.Child("key"))...)
	if anyValue {
		return errs
	}
	for i, value := range r.Values {
		errs = append(errs, invalid(values.Index(i), value, validation.IsValidLabelValue(value))...)
	}
	return errs
}

func validateNodeField(r corev1.NodeSelectorRequirement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			errs = append(errs,
				field.Required(path.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
	default:
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	if r.Key != metav1.ObjectNameField {
		return append(errs, field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
	}
	for i, value := range r.Values {
		errs = append(errs, invalid(path.Child("values").Index(i), value, apivalidation.NameIsDNSSubdomain(value, false))...)
	}
	return errs
}

func (v *validator) validatePodTerms(must []corev1.PodAffinityTerm, wish []corev1.WeightedPodAffinityTerm,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, term := range must {
		errs = append(errs, v.validatePodTerm(term, path.Child(requiredTerms).Index(i))...)
	}
	for i, term := range wish {
		at := path.Child(preferredTerms).Index(i)
		errs = append(errs, validateWeight(term.Weight, at)...)
		errs = append(errs, v.validatePodTerm(term.PodAffinityTerm, at.Child("podAffinityTerm"))...)
	}
	return errs
}

func (v *validator) validatePodTerm(term corev1.PodAffinityTerm, path *field.Path) field.ErrorList {
	opts := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: v.Tolerated.SelectorValues}
	errs := metav1validation.ValidateLabelSelector(term.LabelSelector, opts, path.Child("labelSelector"))
	errs = append(errs, metav1validation.ValidateLabelSelector(term.NamespaceSelector, opts, path.Child("namespaceSelector"))...)
	for _, name := range term.Namespaces {
		errs = append(errs, invalid(path.Child("namespace"), name, apivalidation.ValidateNamespaceName(name, false))...)
	}
	errs = append(errs, validateLabelKeys(&term, path)...)
	if term.TopologyKey == "" {
		errs = append(errs, field.Required(path.Child("topologyKey"), "can not be empty"))
	}
	return append(errs, metav1validation.ValidateLabelName(term.TopologyKey, path.Child("topologyKey"))...)
}

func validateLabelKeys(term *corev1.PodAffinityTerm, path *field.Path) field.ErrorList {
	errs := validateKeys(term.MatchLabelKeys, term.LabelSelector, path.Child("matchLabelKeys"))
	errs = append(errs, validateKeys(term.MismatchLabelKeys, term.LabelSelector, path.Child("mismatchLabelKeys"))...)
	errs = append(errs, keysSelectedTwice(term.MatchLabelKeys, term.LabelSelector, path)...)
	mismatch := sets.New(term.MismatchLabelKeys...)
	for i, key := range term.MatchLabelKeys {
		if mismatch.Has(key) {
			errs = append(errs,
				field.Invalid(path.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys"))
		}
	}
	return errs
}

// validateKeys checks matchLabelKeys or mismatchLabelKeys: label keys whose values come from the pod.
func validateKeys(keys []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if len(keys) > 0 && selector == nil {
		return field.ErrorList{field.Forbidden(path, "must not be specified when labelSelector is not set")}
	}
	var errs field.ErrorList
	for i, key := range keys {
		errs = append(errs, metav1validation.ValidateLabelName(key, path.Index(i))...)
	}
	return errs
}

// keysSelectedTwice refuses keys that the client's selector has too. By now a pod's keys are merged into the
// selector, so such a key is there twice.
func keysSelectedTwice(keys []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	index := map[string]int{}
	for i, key := range keys {
		index[key] = i
	}
	seen := sets.KeySet(selector.MatchLabels)
	for _, e := range selector.MatchExpressions {
		if i, ok := index[e.Key]; ok && seen.Has(e.Key) {
			errs = append(errs, field.Invalid(path.Index(i), e.Key, "exists in both matchLabelKeys and labelSelector"))
		}
		seen.Insert(e.Key)
	}
	return errs
}
