package refusal

import (
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// isAdmission says whether a step asks one of several webhooks or policies.
func isAdmission(s *v1alpha1.Step) bool {
	return s.ID == steps.HandlerWebhook.String() || s.ID == steps.HandlerPolicy.String()
}

// admission explains the refusal by an admission plugin, and names the webhook or the policy that it called.
func (c *card) admission() bool {
	s := c.step()
	if s == nil {
		return false
	}
	switch {
	case s.ID == steps.HandlerWebhook.String():
		c.webhook(s)
	case s.ID == steps.HandlerPolicy.String():
		c.policy(s)
	case refusalCode(c.j) == codeForbidden && (s.ID == steps.HandlerAdmit.String() || s.ID == steps.HandlerApprove.String()):
		c.say("decided by", "the admission plugin %s", s.Subject)
		c.explainError()
	default:
		return false
	}
	return true
}

// webhook explains the refusal by a webhook, or by the lack of its answer.
func (c *card) webhook(s *v1alpha1.Step) {
	resource := "validatingwebhookconfiguration"
	if c.mutates(s) {
		resource = "mutatingwebhookconfiguration"
	}
	configuration, name, _ := strings.Cut(s.Subject, "/")
	c.say("decided by", "the webhook %s of %s %s", name, resource, configuration)
	c.explainError()
	if is(s, reasonWebhookFailed) {
		c.Next = c.words.Phrase("the webhook must run and answer before such objects can be written: "+
			"its log says more; what is asked of it is in kubectl get %s %s -o yaml", resource, word(configuration))
		return
	}
	c.Next = c.words.Phrase("have the object be as the webhook wants it, or somebody who may change it narrow its rules: "+
		"kubectl get %s %s -o yaml has them", resource, word(configuration))
}

// policy explains the refusal by a policy: by its expressions, or because it can't be evaluated.
func (c *card) policy(s *v1alpha1.Step) {
	resource := "validatingadmissionpolicy"
	if c.mutates(s) {
		resource = "mutatingadmissionpolicy"
	}
	name, binding, bound := strings.Cut(s.Subject, "/")
	if bound {
		c.say("decided by", "the policy %s, by its binding %s", name, binding)
	} else {
		c.say("decided by", "the policy %s", name)
	}
	c.explainError()
	if !is(s, reasonPolicyDenied) {
		c.Next = c.words.Phrase("have somebody who may change the policy mend it: "+
			"kubectl get %s %s -o yaml has it; what it names as params must be there", resource, word(name))
		return
	}
	for _, a := range s.Attributes {
		if a.Name == "validation" && !strings.Contains(a.Value, " → true (") {
			c.say("expression", "%s", a.Value)
		}
	}
	c.Next = c.words.Phrase("have the object be as the expressions want it: "+
		"kubectl get %s %s -o yaml has them, and kubectl get %s %s -o yaml says where they hold",
		resource, word(name), resource+"binding", word(binding))
}

// mutates says whether a step may change the object: by the plugin that took it.
func (c *card) mutates(s *v1alpha1.Step) bool {
	return s.Parent >= 0 && c.j.Status.Steps[s.Parent].ID == steps.HandlerAdmit.String()
}
