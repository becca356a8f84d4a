// Package mutatingwebhookconfiguration declares mutatingwebhookconfigurations.admissionregistration.k8s.io.
package mutatingwebhookconfiguration

import (
	"context"
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration"
)

// Resource declares configurations of webhooks that change objects.
var Resource = builtin.Resource[*admissionregistrationv1.MutatingWebhookConfiguration]{
	Names: builtin.Names{
		Plural: "mutatingwebhookconfigurations", Singular: "mutatingwebhookconfiguration", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.MutatingWebhookConfigurationList{},
	Stored:        admissionregistrationv1.SchemeGroupVersion,
	ClusterScoped: true,
	Default:       setDefaults,
	PrepareCreate: func(_ context.Context, c *admissionregistrationv1.MutatingWebhookConfiguration) { c.Generation = 1 },
	PrepareUpdate: countGeneration,
	Validate: func(c *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
		return parts(c).Validate()
	},
	ValidateUpdate: func(c, old *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
		return parts(c).ValidateUpdate(parts(old))
	},
	Warnings: func(c, old *admissionregistrationv1.MutatingWebhookConfiguration) []string {
		return parts(c).Warnings(old != nil)
	},
	ConditionalUpdate: true,
	Sample: `
webhooks:
- name: NAME.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: default, name: NAME}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]`,
	Columns: admissionregistration.ConfigurationColumns(),
	Row:     func(c *admissionregistrationv1.MutatingWebhookConfiguration) metav1.TableRow { return parts(c).Row() },
}

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
