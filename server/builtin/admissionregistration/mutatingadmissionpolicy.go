package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// MutatingAdmissionPolicy declares mutatingadmissionpolicies.admissionregistration.k8s.io.
var MutatingAdmissionPolicy = builtin.Resource[*admissionregistrationv1.MutatingAdmissionPolicy]{
	Names: builtin.Names{
		Plural: "mutatingadmissionpolicies", Singular: "mutatingadmissionpolicy", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.MutatingAdmissionPolicyList{},
	Stored:        admissionregistrationv1.SchemeGroupVersion,
	Served:        []schema.GroupVersion{admissionregistrationv1.SchemeGroupVersion, admissionregistrationv1beta1.SchemeGroupVersion},
	Alike:         []schema.GroupVersion{admissionregistrationv1beta1.SchemeGroupVersion},
	ClusterScoped: true,
	Default: func(p *admissionregistrationv1.MutatingAdmissionPolicy) {
		mutatingAdmissionPolicyParts(p).setDefaults()
	},
	Validate: func(p *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
		return validateMutatingAdmissionPolicy(p, nil)
	},
	ValidateUpdate:    validateMutatingAdmissionPolicy,
	Warnings:          oldNameWarnings[*admissionregistrationv1.MutatingAdmissionPolicy],
	ConditionalUpdate: true,
	Spec:              func(p *admissionregistrationv1.MutatingAdmissionPolicy) any { return &p.Spec },
	Sample: `
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{labels: {"policy": "NAME"}}}'`,
	Columns: policyColumns("Mutations", "Mutation indicates the number of mutations rules defined in this configuration"),
	Row: func(p *admissionregistrationv1.MutatingAdmissionPolicy) metav1.TableRow {
		return mutatingAdmissionPolicyParts(p).row(len(p.Spec.Mutations))
	},
}

func mutatingAdmissionPolicyParts(p *admissionregistrationv1.MutatingAdmissionPolicy) policy {
	return policy{
		Meta: &p.ObjectMeta, ParamKind: p.Spec.ParamKind, MatchConstraints: p.Spec.MatchConstraints,
		MatchConditions: p.Spec.MatchConditions, Variables: p.Spec.Variables, FailurePolicy: &p.Spec.FailurePolicy,
	}
}
