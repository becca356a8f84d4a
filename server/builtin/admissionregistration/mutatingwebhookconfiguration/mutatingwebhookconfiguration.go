// Package mutatingwebhookconfiguration declares mutatingwebhookconfigurations.admissionregistration.k8s.io.
package mutatingwebhookconfiguration

import (
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration"
)

// Resource declares configurations of webhooks that change objects.
var Resource = admissionregistration.DeclareConfigurations(builtin.Resource[*admissionregistrationv1.MutatingWebhookConfiguration]{
	Names: builtin.Names{
		Plural: "mutatingwebhookconfigurations", Singular: "mutatingwebhookconfiguration", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.MutatingWebhookConfigurationList{},
	Default:       setDefaults,
	PrepareUpdate: countGeneration,
	Validate: func(c *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
		return parts(c).Validate()
	},
}, parts)

func setDefaults(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		hook := &c.Webhooks[i]
		admissionregistration.SetWebhookDefaults(hook)
		if hook.ReinvocationPolicy == nil {
			hook.ReinvocationPolicy = new(admissionregistrationv1.NeverReinvocationPolicy)
		}
	}
}

// countGeneration tells a list that is empty from one that is missing, as every Kubernetes API server does.
func countGeneration(c, old *admissionregistrationv1.MutatingWebhookConfiguration) {
	if !reflect.DeepEqual(c.Webhooks, old.Webhooks) {
		c.Generation = old.Generation + 1
	}
}

func parts(c *admissionregistrationv1.MutatingWebhookConfiguration) admissionregistration.Configuration {
	return admissionregistration.Configuration{Meta: &c.ObjectMeta, Webhooks: c.Webhooks}
}
