package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ValidatingAdmissionPolicy declares validatingadmissionpolicies.admissionregistration.k8s.io.
var ValidatingAdmissionPolicy = builtin.Resource[*admissionregistrationv1.ValidatingAdmissionPolicy]{
	Names: builtin.Names{
		Plural: "validatingadmissionpolicies", Singular: "validatingadmissionpolicy", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.ValidatingAdmissionPolicyList{},
	Stored:        admissionregistrationv1.SchemeGroupVersion,
	ClusterScoped: true,
	Default: func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
		validatingAdmissionPolicyParts(p).setDefaults()
	},
	Validate: func(p *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
		return validateValidatingAdmissionPolicy(p, nil)
	},
	ValidateUpdate:    validateValidatingAdmissionPolicy,
	Warnings:          oldNameWarnings[*admissionregistrationv1.ValidatingAdmissionPolicy],
	ConditionalUpdate: true,
	Spec:              func(p *admissionregistrationv1.ValidatingAdmissionPolicy) any { return &p.Spec },
	Status: &builtin.Status[*admissionregistrationv1.ValidatingAdmissionPolicy]{
		Of: func(p *admissionregistrationv1.ValidatingAdmissionPolicy) any { return &p.Status },
		Part: builtin.Part[*admissionregistrationv1.ValidatingAdmissionPolicy]{
			Keep: func(p, old *admissionregistrationv1.ValidatingAdmissionPolicy) {
				p.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
			},
			Reset: []string{"spec", "metadata"},
			Check: validateStatus,
		},
	},
	Sample: `
spec:
  matchConstraints:
    resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  validations: [{expression: "size(object.metadata.name) < 20", message: the name is too long}]`,
	Columns: policyColumns("Validations", "Validations indicates the number of validation rules defined in this configuration"),
	Row: func(p *admissionregistrationv1.ValidatingAdmissionPolicy) metav1.TableRow {
		return validatingAdmissionPolicyParts(p).row(len(p.Spec.Validations))
	},
}

func validatingAdmissionPolicyParts(p *admissionregistrationv1.ValidatingAdmissionPolicy) policy {
	return policy{
		Meta: &p.ObjectMeta, ParamKind: p.Spec.ParamKind, MatchConstraints: p.Spec.MatchConstraints,
		MatchConditions: p.Spec.MatchConditions, Variables: p.Spec.Variables, FailurePolicy: &p.Spec.FailurePolicy,
	}
}
