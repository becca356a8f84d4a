package admissionregistration

import (
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// MutatingWebhookConfiguration declares mutatingwebhookconfigurations.admissionregistration.k8s.io.
var MutatingWebhookConfiguration = declareConfigurations(builtin.Resource[*admissionregistrationv1.MutatingWebhookConfiguration]{
	Names: builtin.Names{
		Plural: "mutatingwebhookconfigurations", Singular: "mutatingwebhookconfiguration", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.MutatingWebhookConfigurationList{},
	Default:       setMutatingWebhookConfigurationDefaults,
	PrepareUpdate: countMutatingWebhookConfigurationGeneration,
	Validate: func(c *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
		return mutatingWebhookConfigurationParts(c).Validate()
	},
}, mutatingWebhookConfigurationParts)

func setMutatingWebhookConfigurationDefaults(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		hook := &c.Webhooks[i]
		setWebhookDefaults(hook)
		if hook.ReinvocationPolicy == nil {
			hook.ReinvocationPolicy = new(admissionregistrationv1.NeverReinvocationPolicy)
		}
	}
}

// countMutatingWebhookConfigurationGeneration treats an empty list and a missing list as different, as every
// Kubernetes API server does.
func countMutatingWebhookConfigurationGeneration(c, old *admissionregistrationv1.MutatingWebhookConfiguration) {
	if !reflect.DeepEqual(c.Webhooks, old.Webhooks) {
		c.Generation = old.Generation + 1
	}
}

func mutatingWebhookConfigurationParts(c *admissionregistrationv1.MutatingWebhookConfiguration) Configuration {
	return Configuration{Meta: &c.ObjectMeta, Webhooks: c.Webhooks}
}
