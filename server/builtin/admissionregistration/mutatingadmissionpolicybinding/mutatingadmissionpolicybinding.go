// Package mutatingadmissionpolicybinding declares mutatingadmissionpolicybindings.admissionregistration.k8s.io.
package mutatingadmissionpolicybinding

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration"
)

// Resource declares to which objects mutating policies apply, and with which parameters.
var Resource = builtin.Resource[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
	Names: builtin.Names{
		Plural: "mutatingadmissionpolicybindings", Singular: "mutatingadmissionpolicybinding", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
	Stored:        admissionregistrationv1.SchemeGroupVersion,
	Served:        []schema.GroupVersion{admissionregistrationv1.SchemeGroupVersion, admissionregistrationv1beta1.SchemeGroupVersion},
	Alike:         []schema.GroupVersion{admissionregistrationv1beta1.SchemeGroupVersion},
	ClusterScoped: true,
	Default: func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
		admissionregistration.SetMatchDefaults(b.Spec.MatchResources)
	},
	Validate: func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
		return validate(b, nil)
	},
	ValidateUpdate:    validate,
	Warnings:          admissionregistration.OldNameWarnings[*admissionregistrationv1.MutatingAdmissionPolicyBinding],
	ConditionalUpdate: true,
	Spec:              func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) any { return &b.Spec },
	Sample:            "spec: {policyName: NAME}",
	Columns:           admissionregistration.BindingColumns(),
	Row: func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) metav1.TableRow {
		return parts(b).Row()
	},
}

func validate(b, old *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	errs := append(parts(b).Validate(true), admissionregistration.ValidateMutable(b.Spec.MatchResources, field.NewPath("spec", "matchResources"))...)
	if old == nil {
		errs = append(errs, admissionregistration.ValidateSuffix(b.Name)...)
	}
	return errs
}

func parts(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) admissionregistration.Binding {
	return admissionregistration.Binding{
		Meta: &b.ObjectMeta, PolicyName: b.Spec.PolicyName, ParamRef: b.Spec.ParamRef, MatchResources: b.Spec.MatchResources,
	}
}
