package hooktest

import (
	"slices"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hook is a webhook of a configuration.
type hook struct {
	// scene is the label of the objects it is asked about, and path the behaviour, which is the scene unless it is
	// given.
	scene, path string
	rules       []registrationv1.RuleWithOperations
	change      func(*registrationv1.ValidatingWebhook)
	again       bool
}

// Configurations has a webhook for each scene, or for those that are named. Which one is asked about a write, its label
// scene says. The last webhook of each refuses new service accounts.
func (w *Webhook) Configurations(scenes ...string) (*registrationv1.MutatingWebhookConfiguration,
	*registrationv1.ValidatingWebhookConfiguration) {
	mutating := &registrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "scenes"}}
	for _, h := range named(mutatingScenes, scenes) {
		one := w.webhook(h)
		policy := registrationv1.NeverReinvocationPolicy
		if h.again {
			policy = registrationv1.IfNeededReinvocationPolicy
		}
		mutating.Webhooks = append(mutating.Webhooks, registrationv1.MutatingWebhook{
			Name: one.Name, ClientConfig: one.ClientConfig, Rules: one.Rules, FailurePolicy: one.FailurePolicy,
			MatchPolicy:       one.MatchPolicy,
			NamespaceSelector: one.NamespaceSelector, ObjectSelector: one.ObjectSelector, SideEffects: one.SideEffects,
			TimeoutSeconds: one.TimeoutSeconds, AdmissionReviewVersions: one.AdmissionReviewVersions, MatchConditions: one.MatchConditions,
			ReinvocationPolicy: &policy,
		})
	}
	validating := &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "scenes"}}
	for _, h := range named(validatingScenes, scenes) {
		validating.Webhooks = append(validating.Webhooks, w.webhook(h))
	}
	return mutating, validating
}

// named are the webhooks of some scenes, and the last one.
func named(all []hook, scenes []string) []hook {
	return slices.DeleteFunc(slices.Clone(all), func(h hook) bool {
		return len(scenes) > 0 && h.scene != "ready" && !slices.Contains(scenes, h.scene)
	})
}

func (w *Webhook) webhook(h hook) registrationv1.ValidatingWebhook {
	path := h.path
	if path == "" {
		path = h.scene
	}
	url := w.Server.URL + "/" + path
	effects := registrationv1.SideEffectClassNone
	one := registrationv1.ValidatingWebhook{
		Name: path + "." + h.scene + ".example.com", SideEffects: &effects, AdmissionReviewVersions: []string{"v1"},
		TimeoutSeconds: new(int32(20)),
		ClientConfig:   registrationv1.WebhookClientConfig{URL: &url, CABundle: w.CA()}, Rules: h.rules,
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"scene": h.scene}},
	}
	if one.Rules == nil {
		one.Rules = rule("", "v1", "configmaps", registrationv1.Create, registrationv1.Update)
	}
	if h.change != nil {
		h.change(&one)
	}
	return one
}

func rule(group, version, resource string, operations ...registrationv1.OperationType) []registrationv1.RuleWithOperations {
	return []registrationv1.RuleWithOperations{{Operations: operations, Rule: registrationv1.Rule{
		APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource},
	}}}
}

func timeout(seconds int32, policy registrationv1.FailurePolicyType) func(*registrationv1.ValidatingWebhook) {
	return func(w *registrationv1.ValidatingWebhook) { w.TimeoutSeconds, w.FailurePolicy = &seconds, &policy }
}

func condition(expression string, policy registrationv1.FailurePolicyType) func(*registrationv1.ValidatingWebhook) {
	return func(w *registrationv1.ValidatingWebhook) {
		w.FailurePolicy = &policy
		w.MatchConditions = []registrationv1.MatchCondition{{Name: "only-some", Expression: expression}}
	}
}

var (
	mutatingScenes = []hook{
		{scene: "label"}, {scene: "label", path: "second"}, {scene: "no-op"}, {scene: "missing-path"}, {scene: "undecodable"},
		{scene: "unknown-op"},
		{scene: "wrong-type"}, {scene: "uid"}, {scene: "set-uid"}, {scene: "name"}, {scene: "namespace"}, {scene: "invalid"},
		{scene: "deny-mutating"},
		{scene: "no-patch-type"}, {scene: "no-patch"},
		{scene: "count", again: true}, {scene: "count", path: "label"},
		{scene: "once", path: "count"}, {scene: "once", path: "label"},
		{scene: "maximum", rules: rule("autoscaling", "v2", "horizontalpodautoscalers", registrationv1.OperationAll)},
		{scene: "exact", path: "maximum", rules: rule("autoscaling", "v2", "horizontalpodautoscalers", registrationv1.OperationAll),
			change: func(w *registrationv1.ValidatingWebhook) {
				exact := registrationv1.Exact
				w.MatchPolicy = &exact
			}},
		{scene: "secret", rules: rule("", "v1", "secrets", registrationv1.Create)},
		{scene: "container", rules: rule("", "v1", "pods", registrationv1.Create)},
		{scene: "patch-delete", rules: rule("", "v1", "configmaps", registrationv1.Delete)},
		{scene: "slow-ignore", change: timeout(1, registrationv1.Ignore)},
		{scene: "custom", rules: rule("example.com", "*", "widgets", registrationv1.OperationAll)},
		{scene: "ready", path: "deny-mutating", rules: rule("", "v1", "serviceaccounts", registrationv1.Create)},
	}
	validatingScenes = []hook{
		{scene: "custom-deny", path: "deny", rules: rule("example.com", "v1", "widgets", registrationv1.OperationAll)},
		{scene: "deny"}, {scene: "deny-silent"}, {scene: "deny-reason"}, {scene: "deny-code"}, {scene: "deny-as-success"},
		{scene: "escape"}, {scene: "deny-large-code"},
		{scene: "both", path: "deny"}, {scene: "both", path: "deny-reason"},
		{scene: "deny-delete", rules: rule("", "v1", "configmaps", registrationv1.Delete)},
		{scene: "validator-patch"}, {scene: "wrong-uid"}, {scene: "wrong-version"}, {scene: "wrong-kind"}, {scene: "absent"},
		{scene: "empty"}, {scene: "garbage"},
		{scene: "warn"}, {scene: "warn-deny"},
		{scene: "patient", path: "slow", change: timeout(20, registrationv1.Fail)},
		{scene: "slow", change: timeout(1, registrationv1.Fail)}, {scene: "slow-validating", path: "slow-ignore",
			change: timeout(1, registrationv1.Ignore)},
		{scene: "redirect"}, {scene: "broken"}, {scene: "broken-ignored", path: "broken",
			change: timeout(20, registrationv1.Ignore)}, {scene: "endless"}, {scene: "bomb"},
		{scene: "false", path: "deny", change: condition("request.operation == 'DELETE'", registrationv1.Fail)},
		{scene: "true", path: "deny", change: condition("object.metadata.name.startsWith('t')", registrationv1.Fail)},
		{scene: "error", path: "deny", change: condition("object.data.nothing == 'x'", registrationv1.Fail)},
		{scene: "error-ignored", path: "deny", change: condition("object.data.nothing == 'x'", registrationv1.Ignore)},
		{scene: "elsewhere", path: "deny", change: func(w *registrationv1.ValidatingWebhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"strict": "yes"}}
		}},
		{scene: "nobody", path: "deny", rules: rule("admissionregistration.k8s.io", "*", "*", registrationv1.OperationAll)},
		{scene: "ready", path: "deny", rules: rule("", "v1", "serviceaccounts", registrationv1.Create)},
	}
)
