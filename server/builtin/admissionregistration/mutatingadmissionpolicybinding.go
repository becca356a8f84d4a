package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// MutatingAdmissionPolicyBinding declares mutatingadmissionpolicybindings.admissionregistration.k8s.io.
var MutatingAdmissionPolicyBinding = builtin.Resource[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
	Names: builtin.Names{
		Plural: "mutatingadmissionpolicybindings", Singular: "mutatingadmissionpolicybinding", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
	Stored:        admissionregistrationv1.SchemeGroupVersion,
	Served:        []schema.GroupVersion{admissionregistrationv1.SchemeGroupVersion, admissionregistrationv1beta1.SchemeGroupVersion},
	Alike:         []schema.GroupVersion{admissionregistrationv1beta1.SchemeGroupVersion},
	ClusterScoped: true,
	Default: func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
		setMatchDefaults(b.Spec.MatchResources)
	},
	Validate: func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
		return validateMutatingAdmissionPolicyBinding(b, nil)
	},
	ValidateUpdate:    validateMutatingAdmissionPolicyBinding,
	Warnings:          oldNameWarnings[*admissionregistrationv1.MutatingAdmissionPolicyBinding],
	ConditionalUpdate: true,
	Spec:              func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) any { return &b.Spec },
	Sample:            "spec: {policyName: NAME}",
	Columns:           bindingColumns(),
	Row: func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) metav1.TableRow {
		return mutatingAdmissionPolicyBindingParts(b).row()
	},
}

func validateMutatingAdmissionPolicyBinding(b, old *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	errs := append(mutatingAdmissionPolicyBindingParts(b).Validate(true),
		validateMutable(b.Spec.MatchResources, field.NewPath("spec", "matchResources"))...)
	if old == nil {
		errs = append(errs, validateSuffix(b.Name)...)
	}
	return errs
}

func mutatingAdmissionPolicyBindingParts(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) binding {
	return binding{
		Meta: &b.ObjectMeta, PolicyName: b.Spec.PolicyName, ParamRef: b.Spec.ParamRef, MatchResources: b.Spec.MatchResources,
	}
}
