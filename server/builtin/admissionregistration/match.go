package admissionregistration

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var matchPolicies = []admissionregistrationv1.MatchPolicyType{admissionregistrationv1.Equivalent, admissionregistrationv1.Exact}

// mutable lists the operations in which a policy may change the object.
var mutable = []admissionregistrationv1.OperationType{
	admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create, admissionregistrationv1.Update,
}

// setMatchDefaults fills in the match resources of a policy or a binding. It accepts nil.
func setMatchDefaults(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	if m.MatchPolicy == nil {
		m.MatchPolicy = new(admissionregistrationv1.Equivalent)
	}
	setSelectorDefaults(&m.NamespaceSelector)
	setSelectorDefaults(&m.ObjectSelector)
	for i := range m.ResourceRules {
		setRuleDefaults(&m.ResourceRules[i].Rule)
	}
	for i := range m.ExcludeResourceRules {
		setRuleDefaults(&m.ExcludeResourceRules[i].Rule)
	}
}

// setSelectorDefaults replaces a missing selector by one that selects everything.
func setSelectorDefaults(selector **metav1.LabelSelector) {
	if *selector == nil {
		*selector = &metav1.LabelSelector{}
	}
}

// validateMatch checks the match resources of a policy or a binding. It accepts nil.
func validateMatch(m *admissionregistrationv1.MatchResources, path *field.Path) (errs field.ErrorList) {
	if m == nil {
		return nil
	}
	if m.MatchPolicy == nil {
		errs = append(errs, field.Required(path.Child("matchPolicy"), ""))
	} else if !slices.Contains(matchPolicies, *m.MatchPolicy) {
		errs = append(errs, field.NotSupported(path.Child("matchPolicy"), *m.MatchPolicy, matchPolicies))
	}
	errs = append(errs, validateSelector(m.NamespaceSelector, path.Child("namespaceSelector"))...)
	errs = append(errs, validateSelector(m.ObjectSelector, path.Child("objectSelector"))...)
	for i := range m.ResourceRules {
		errs = append(errs, validateNamedRule(&m.ResourceRules[i], path.Child("resourceRules").Index(i))...)
	}
	for i := range m.ExcludeResourceRules {
		errs = append(errs, validateNamedRule(&m.ExcludeResourceRules[i], path.Child("excludeResourceRules").Index(i))...)
	}
	return errs
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// validateMutable refuses rules for operations whose objects cannot change. It accepts nil.
func validateMutable(m *admissionregistrationv1.MatchResources, path *field.Path) (errs field.ErrorList) {
	if m == nil {
		return nil
	}
	for _, rule := range m.ResourceRules {
		for _, operation := range rule.Operations {
			if !slices.Contains(mutable, operation) {
				errs = append(errs, field.NotSupported(path.Child("resourceRules", "operations"), operation, mutable))
			}
		}
	}
	return errs
}
