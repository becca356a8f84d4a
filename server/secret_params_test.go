package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// secretParam is the value of the Secret as expressions see it, in base64.
const secretParam = "aGlkZGVuLWluLXBhcmFtcw=="

// secretPolicy quotes its params, which are a Secret, in all that a policy can say.
func secretPolicy() (*registrationv1.ValidatingAdmissionPolicy, *registrationv1.ValidatingAdmissionPolicyBinding) {
	const quoted = "'it is ' + string(params.data.word)"
	policy := &registrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("quotes"), Spec: registrationv1.ValidatingAdmissionPolicySpec{
		ParamKind: &registrationv1.ParamKind{APIVersion: "v1", Kind: "Secret"},
		MatchConstraints: &registrationv1.MatchResources{ResourceRules: []registrationv1.NamedRuleWithOperations{{
			RuleWithOperations: registrationv1.RuleWithOperations{
				Operations: []registrationv1.OperationType{"CREATE"},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			},
		}}},
		Validations:      []registrationv1.Validation{{Expression: "object.metadata.name != 'bad'", MessageExpression: quoted}},
		AuditAnnotations: []registrationv1.AuditAnnotation{{Key: "word", ValueExpression: quoted}},
	}}
	binding := &registrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named("quotes"), Spec: registrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName:        "quotes",
		ParamRef:          &registrationv1.ParamRef{Name: "word", Namespace: "default", ParameterNotFoundAction: new(registrationv1.DenyAction)},
		ValidationActions: []registrationv1.ValidationAction{registrationv1.Deny, registrationv1.Audit},
	}}
	return policy, binding
}

// mutatingPolicy fails with an error that quotes its params.
func mutatingPolicy() (*registrationv1.MutatingAdmissionPolicy, *registrationv1.MutatingAdmissionPolicyBinding) {
	policy := &registrationv1.MutatingAdmissionPolicy{ObjectMeta: named("fails"), Spec: registrationv1.MutatingAdmissionPolicySpec{
		ParamKind: &registrationv1.ParamKind{APIVersion: "v1", Kind: "Secret"},
		MatchConstraints: &registrationv1.MatchResources{ResourceRules: []registrationv1.NamedRuleWithOperations{{
			RuleWithOperations: registrationv1.RuleWithOperations{
				Operations: []registrationv1.OperationType{"CREATE"},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"serviceaccounts"}},
			},
		}}},
		ReinvocationPolicy: registrationv1.NeverReinvocationPolicy,
		Mutations: []registrationv1.Mutation{{PatchType: registrationv1.PatchTypeJSONPatch, JSONPatch: &registrationv1.JSONPatch{
			Expression: `[JSONPatch{op: "remove", path: "/metadata/annotations/" + string(params.data.word)}]`,
		}}},
	}}
	binding := &registrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: named("fails"), Spec: registrationv1.MutatingAdmissionPolicyBindingSpec{
		PolicyName: "fails",
		ParamRef:   &registrationv1.ParamRef{Name: "word", Namespace: "default", ParameterNotFoundAction: new(registrationv1.DenyAction)},
	}}
	return policy, binding
}

// TestSecretParams has policies quote a Secret, which is their params, in the refusal of a write that is not confidential. The client
// reads it; the journey and the audit log do not, whatever they may say of bodies.
func TestSecretParams(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"Metadata", "Request"} {
		file, edit := auditing(t, "omitStages: [RequestReceived]\nrules:\n- {level: "+level+
			", resources: [{group: '', resources: [configmaps, serviceaccounts]}]}\n- {level: None}\n")
		r, stop, err := launch(edit)
		must(t, err)
		c := r.admin(t)
		secret := &corev1.Secret{ObjectMeta: named("word"), StringData: map[string]string{"word": "hidden-in-params"}}
		_, err = c.CoreV1().Secrets("default").Create(within(t), secret, metav1.CreateOptions{})
		must(t, err)
		policy, binding := secretPolicy()
		_, err = c.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(within(t), policy, metav1.CreateOptions{})
		must(t, err)
		_, err = c.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(within(t), binding, metav1.CreateOptions{})
		must(t, err)
		changes, bound := mutatingPolicy()
		_, err = c.AdmissionregistrationV1().MutatingAdmissionPolicies().Create(within(t), changes, metav1.CreateOptions{})
		must(t, err)
		_, err = c.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Create(within(t), bound, metav1.CreateOptions{})
		must(t, err)
		for _, path := range []string{"configmaps", "serviceaccounts"} {
			r.quotesToClientAlone(t, path)
		}
		must(t, stop())
		events := audited(t, file)
		if len(events) < 2 {
			t.Errorf("%s: %d events", level, len(events))
		}
		for _, e := range events {
			if text := fmt.Sprint(e.ResponseStatus, e.Annotations); strings.Contains(text, secretParam) {
				t.Errorf("the audit log at level %s has the Secret: %s", level, text)
			}
		}
	}
}

// quotesToClientAlone creates an object until the policies are in force and refuse it.
func (r *running) quotesToClientAlone(t *testing.T, resource string) {
	t.Helper()
	var res *http.Response
	var answer []byte
	until(t, "the policy refuses the write", func() bool {
		res, answer = ask(t, r.httpClient(t), "POST", r.URL+"/api/v1/namespaces/default/"+resource+"?dryRun=All",
			strings.NewReader(`{"metadata":{"name":"bad"}}`), "Content-Type: application/json", "Kx-Trace: objects")
		return res.StatusCode >= 400
	})
	if !strings.Contains(string(answer), secretParam) {
		t.Errorf("the answer does not quote the params: %s", answer)
	}
	j := r.journeyOf(t, res.Header.Get("Kx-Journey"))
	for _, s := range j.Status.Steps {
		if text := fmt.Sprintf("%+v", s); strings.Contains(text, secretParam) {
			t.Errorf("the step %s has the Secret: %s", s.ID, text)
		}
	}
	if !saysMasked(j) {
		t.Error("no step says that something was masked")
	}
}

func saysMasked(j *v1alpha1.Journey) bool {
	for _, s := range j.Status.Steps {
		if strings.Contains(s.Error, "denied request: (masked)") {
			return true
		}
	}
	return false
}
