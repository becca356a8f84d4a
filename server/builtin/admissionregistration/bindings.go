package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// binding holds the common parts of the bindings of both kinds of policies.
type binding struct {
	Meta           *metav1.ObjectMeta
	PolicyName     string
	ParamRef       *admissionregistrationv1.ParamRef
	MatchResources *admissionregistrationv1.MatchResources
}

// Validate checks a binding. Without nameRequired, the caller reports a missing name of the policy: the two kinds
// report it in different places.
func (b binding) Validate(nameRequired bool) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(b.Meta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if b.PolicyName != "" {
		for _, msg := range apivalidation.NameIsDNSSubdomain(b.PolicyName, false) {
			errs = append(errs, field.Invalid(specPath.Child("policyName"), b.PolicyName, msg))
		}
	} else if nameRequired {
		errs = append(errs, b.missingName()...)
	}
	errs = append(errs, validateParamRef(b.ParamRef, specPath.Child("paramRef"))...)
	return append(errs, validateMatch(b.MatchResources, specPath.Child("matchResources"))...)
}

// missingName returns the error of a binding that names no policy.
func (b binding) missingName() field.ErrorList {
	if b.PolicyName != "" {
		return nil
	}
	return field.ErrorList{field.Required(specPath.Child("policyName"), "")}
}
