package admissionregistration

import (
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ValidatingWebhookConfiguration declares validatingwebhookconfigurations.admissionregistration.k8s.io.
var ValidatingWebhookConfiguration = declareConfigurations(builtin.Resource[*admissionregistrationv1.ValidatingWebhookConfiguration]{
	Names: builtin.Names{
		Plural: "validatingwebhookconfigurations", Singular: "validatingwebhookconfiguration", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.ValidatingWebhookConfigurationList{},
	Default:       setValidatingWebhookConfigurationDefaults,
	PrepareUpdate: countValidatingWebhookConfigurationGeneration,
	Validate: func(c *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
		return validatingWebhookConfigurationParts(c).Validate()
	},
}, validatingWebhookConfigurationParts)

func setValidatingWebhookConfigurationDefaults(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i, hook := range validatingWebhookConfigurationParts(c).Webhooks {
		setWebhookDefaults(&hook)
		w := &c.Webhooks[i]
		w.FailurePolicy, w.MatchPolicy, w.TimeoutSeconds = hook.FailurePolicy, hook.MatchPolicy, hook.TimeoutSeconds
		w.NamespaceSelector, w.ObjectSelector = hook.NamespaceSelector, hook.ObjectSelector
	}
}

// countValidatingWebhookConfigurationGeneration treats an empty list and a missing list as different, as every
// Kubernetes API server does.
func countValidatingWebhookConfigurationGeneration(c, old *admissionregistrationv1.ValidatingWebhookConfiguration) {
	if !reflect.DeepEqual(c.Webhooks, old.Webhooks) {
		c.Generation = old.Generation + 1
	}
}

// validatingWebhookConfigurationParts shares the webhooks' rules and clients.
func validatingWebhookConfigurationParts(c *admissionregistrationv1.ValidatingWebhookConfiguration) Configuration {
	hooks := make([]admissionregistrationv1.MutatingWebhook, 0, len(c.Webhooks))
	for _, w := range c.Webhooks {
		hooks = append(hooks, admissionregistrationv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		})
	}
	return Configuration{Meta: &c.ObjectMeta, Webhooks: hooks}
}
