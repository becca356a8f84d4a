package policy

import (
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// TestPoliciesBeforeBindings has policies be known before their bindings, as at each start: until both are, a write waits.
func TestPoliciesBeforeBindings(t *testing.T) {
	p := New(Config{})
	tellPolicies, tellBindings := tellers(&p.validating, p.validatingPolicy, validatingBinding)
	write := admission.NewAttributesRecord(nil, nil, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "default", "a",
		corev1.SchemeGroupVersion.WithResource("configmaps"), "", admission.Create, nil, false, nil)
	tellPolicies([]*registrationv1.ValidatingAdmissionPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}}}, nil)
	if !p.validating.mayMatch(write) {
		t.Error("a policy judges no write while its bindings are unknown")
	}
	tellBindings(nil, nil)
	if p.validating.mayMatch(write) {
		t.Error("a policy without bindings judges a write")
	}
	tellBindings([]*registrationv1.ValidatingAdmissionPolicyBinding{{Spec: registrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "p"}}}, nil)
	if !p.validating.mayMatch(write) {
		t.Error("a policy with a binding judges no write")
	}
}
