package admissionregistration

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ValidatingAdmissionPolicyBinding declares validatingadmissionpolicybindings.admissionregistration.k8s.io.
var ValidatingAdmissionPolicyBinding = builtin.Resource[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
	Names: builtin.Names{
		Plural: "validatingadmissionpolicybindings", Singular: "validatingadmissionpolicybinding", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
	Stored:        admissionregistrationv1.SchemeGroupVersion,
	ClusterScoped: true,
	Default: func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
		setMatchDefaults(b.Spec.MatchResources)
	},
	Validate: func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
		return validateValidatingAdmissionPolicyBinding(b, nil)
	},
	ValidateUpdate:    validateValidatingAdmissionPolicyBinding,
	Warnings:          oldNameWarnings[*admissionregistrationv1.ValidatingAdmissionPolicyBinding],
	ConditionalUpdate: true,
	Spec:              func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) any { return &b.Spec },
	Sample: `
spec:
  policyName: NAME
  validationActions: [Deny]`,
	Columns: bindingColumns(),
	Row: func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) metav1.TableRow {
		return validatingAdmissionPolicyBindingParts(b).row()
	},
}

var actions = []admissionregistrationv1.ValidationAction{
	admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn,
}

// validateValidatingAdmissionPolicyBinding reports missing fields last, as every Kubernetes API server does.
func validateValidatingAdmissionPolicyBinding(b, old *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	path := field.NewPath("spec", "validationActions")
	errs := append(validatingAdmissionPolicyBindingParts(b).Validate(false), validateActions(b.Spec.ValidationActions, path)...)
	if old == nil {
		errs = append(errs, validateSuffix(b.Name)...)
	}
	errs = append(errs, validatingAdmissionPolicyBindingParts(b).missingName()...)
	if len(b.Spec.ValidationActions) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	return errs
}

func validateActions(chosen []admissionregistrationv1.ValidationAction, path *field.Path) (errs field.ErrorList) {
	for i, action := range chosen {
		if !slices.Contains(actions, action) {
			errs = append(errs, field.NotSupported(path.Index(i), action, actions))
		}
		if slices.Contains(chosen[:i], action) {
			errs = append(errs, field.Duplicate(path.Index(i), action))
		}
	}
	if slices.Contains(chosen, admissionregistrationv1.Deny) && slices.Contains(chosen, admissionregistrationv1.Warn) {
		errs = append(errs,
			field.Invalid(path, chosen,
				"must not contain both Deny and Warn (repeating the same validation failure information "+
					"in the API response and headers serves no purpose)"))
	}
	return errs
}

func validatingAdmissionPolicyBindingParts(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) binding {
	return binding{
		Meta: &b.ObjectMeta, PolicyName: b.Spec.PolicyName, ParamRef: b.Spec.ParamRef, MatchResources: b.Spec.MatchResources,
	}
}
