package admissionregistration

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

// TestWarningsOfRules has a rule with so many groups and resources that a look at each combination would not end.
func TestWarningsOfRules(t *testing.T) {
	rule := admissionregistrationv1.Rule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews", "tokenreviews"}}
	for i := range 200_000 {
		rule.APIGroups = append(rule.APIGroups, fmt.Sprint("g", i))
		rule.Resources = append(rule.Resources, fmt.Sprint("r", i))
	}
	rule.APIGroups = append(rule.APIGroups, "authorization.k8s.io", "authentication.k8s.io")
	rule.Resources = append(rule.Resources, "subjectaccessreviews", "selfsubjectreviews")
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{
		{Rules: []admissionregistrationv1.RuleWithOperations{{}, {Rule: rule}}}}}

	const suffix = " is excluded from admission webhooks; this rule will have no effect"
	want := []string{
		"webhooks[0].rules[1]: tokenreviews.authentication.k8s.io" + suffix,
		"webhooks[0].rules[1]: selfsubjectreviews.authentication.k8s.io" + suffix,
		"webhooks[0].rules[1]: subjectaccessreviews.authorization.k8s.io" + suffix,
	}
	rules := builtin.Declare(ValidatingWebhookConfiguration).Strategy()
	if diff := cmp.Diff(want, rules.WarningsOnCreate(context.Background(), configuration)); diff != "" {
		t.Error(diff)
	}
}
