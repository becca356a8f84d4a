// Package validatingwebhookconfiguration declares validatingwebhookconfigurations.admissionregistration.k8s.io.
package validatingwebhookconfiguration

import (
	"context"
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration"
)

// Resource declares configurations of webhooks that refuse requests.
var Resource = builtin.Resource[*admissionregistrationv1.ValidatingWebhookConfiguration]{
	Names: builtin.Names{
		Plural: "validatingwebhookconfigurations", Singular: "validatingwebhookconfiguration", Categories: []string{"api-extensions"},
	},
	List:          &admissionregistrationv1.ValidatingWebhookConfigurationList{},
	Stored:        admissionregistrationv1.SchemeGroupVersion,
	ClusterScoped: true,
	Default:       setDefaults,
	PrepareCreate: func(_ context.Context, c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Generation = 1 },
	PrepareUpdate: countGeneration,
	Validate: func(c *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
		return parts(c).Validate()
	},
	ValidateUpdate: func(c, old *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
		return parts(c).ValidateUpdate(parts(old))
	},
	Warnings: func(c, old *admissionregistrationv1.ValidatingWebhookConfiguration) []string {
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
	Row:     func(c *admissionregistrationv1.ValidatingWebhookConfiguration) metav1.TableRow { return parts(c).Row() },
}

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
