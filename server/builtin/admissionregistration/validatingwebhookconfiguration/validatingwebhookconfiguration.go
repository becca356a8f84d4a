// Package validatingwebhookconfiguration declares validatingwebhookconfigurations.admissionregistration.k8s.io.
package validatingwebhookconfiguration

import (
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration"
)

// Resource declares configurations of webhooks that refuse requests.
var Resource = admissionregistration.DeclareConfigurations(builtin.Resource[*admissionregistrationv1.ValidatingWebhookConfiguration]{
	Names: builtin.Names{
		Plural: "validatingwebhookconfigurations", Singular: "validatingwebhookconfiguration", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.ValidatingWebhookConfigurationList{},
	Default:       setDefaults,
	PrepareUpdate: countGeneration,
	Validate: func(c *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
		return parts(c).Validate()
	},
}, parts)

func setDefaults(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i, hook := range parts(c).Webhooks {
		admissionregistration.SetWebhookDefaults(&hook)
		w := &c.Webhooks[i]
		w.FailurePolicy, w.MatchPolicy, w.TimeoutSeconds = hook.FailurePolicy, hook.MatchPolicy, hook.TimeoutSeconds
		w.NamespaceSelector, w.ObjectSelector = hook.NamespaceSelector, hook.ObjectSelector
	}
}

// countGeneration tells a list that is empty from one that is missing, as every Kubernetes API server does.
func countGeneration(c, old *admissionregistrationv1.ValidatingWebhookConfiguration) {
	if !reflect.DeepEqual(c.Webhooks, old.Webhooks) {
		c.Generation = old.Generation + 1
	}
}

// parts shares the webhooks' rules and clients.
func parts(c *admissionregistrationv1.ValidatingWebhookConfiguration) admissionregistration.Configuration {
	hooks := make([]admissionregistrationv1.MutatingWebhook, 0, len(c.Webhooks))
	for _, w := range c.Webhooks {
		hooks = append(hooks, admissionregistrationv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		})
	}
	return admissionregistration.Configuration{Meta: &c.ObjectMeta, Webhooks: hooks}
}
