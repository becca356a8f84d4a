package admissionregistration

import (
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/utils/ptr"
)

var (
	failurePolicies      = []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore}
	reinvocationPolicies = []admissionregistrationv1.ReinvocationPolicyType{
		admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy,
	}
	// harmless lists the side effects of webhooks that the server may call in a dry run.
	harmless    = []string{string(admissionregistrationv1.SideEffectClassNone), string(admissionregistrationv1.SideEffectClassNoneOnDryRun)}
	sideEffects = append(slices.Clone(harmless), string(admissionregistrationv1.SideEffectClassSome),
		string(admissionregistrationv1.SideEffectClassUnknown))
	// reviewVersions lists the versions of reviews that this server can send to a webhook.
	reviewVersions = []string{"v1", "v1beta1"}
)

// Configuration is a configuration of webhooks of either kind. A validating webhook has no reinvocation policy.
type Configuration struct {
	Meta     *metav1.ObjectMeta
	Webhooks []admissionregistrationv1.MutatingWebhook
}

// setWebhookDefaults fills in the fields that both kinds of webhooks have.
func setWebhookDefaults(hook *admissionregistrationv1.MutatingWebhook) {
	if hook.FailurePolicy == nil {
		hook.FailurePolicy = new(admissionregistrationv1.Fail)
	}
	if hook.MatchPolicy == nil {
		hook.MatchPolicy = new(admissionregistrationv1.Equivalent)
	}
	setSelectorDefaults(&hook.NamespaceSelector)
	setSelectorDefaults(&hook.ObjectSelector)
	if hook.TimeoutSeconds == nil {
		hook.TimeoutSeconds = new(int32(10))
	}
	if service := hook.ClientConfig.Service; service != nil && service.Port == nil {
		service.Port = new(int32(443))
	}
	for i := range hook.Rules {
		setRuleDefaults(&hook.Rules[i].Rule)
	}
}

// leniency lists the mistakes of the stored configuration, which an update may keep.
type leniency struct {
	conditions    bool // they have not changed
	expressions   sets.Set[string]
	sideEffects   bool
	versions      bool
	names         bool
	labelSelector metav1validation.LabelSelectorValidationOptions
}

// Validate checks a new configuration.
func (c Configuration) Validate() field.ErrorList {
	errs := c.validate(leniency{})
	return append(errs, validateSuffix(c.Meta.Name)...)
}

// ValidateUpdate checks a changed configuration.
func (c Configuration) ValidateUpdate(old Configuration) field.ErrorList {
	return c.validate(leniency{
		conditions:  sameConditions(c.Webhooks, old.Webhooks),
		expressions: old.expressions(),
		sideEffects: slices.ContainsFunc(old.Webhooks,
			func(h admissionregistrationv1.MutatingWebhook) bool { return !hasOneOf(h.SideEffects, harmless) }),
		versions: slices.ContainsFunc(old.Webhooks, hasStrangeVersions),
		names:    !haveUniqueNames(old.Webhooks),
		labelSelector: metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: slices.ContainsFunc(old.Webhooks,
			hasInvalidSelector)},
	})
}

func (c Configuration) validate(old leniency) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(c.Meta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	names := sets.New[string]()
	for i := range c.Webhooks {
		hook, path := &c.Webhooks[i], field.NewPath("webhooks").Index(i)
		errs = append(errs, validateWebhook(hook, old, path)...)
		errs = append(errs, validateReviewVersions(hook.AdmissionReviewVersions, old, path.Child("admissionReviewVersions"))...)
		if old.names || hook.Name == "" {
			continue
		}
		if names.Has(hook.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), hook.Name))
		}
		names.Insert(hook.Name)
	}
	return errs
}

func validateWebhook(hook *admissionregistrationv1.MutatingWebhook, old leniency, path *field.Path) (errs field.ErrorList) {
	errs = append(errs, validation.IsFullyQualifiedName(path.Child("name"), hook.Name)...)
	for i := range hook.Rules {
		errs = append(errs, validateRule(&hook.Rules[i], path.Child("rules").Index(i))...)
	}
	errs = append(errs, validateChoice(hook.FailurePolicy, failurePolicies, path.Child("failurePolicy"))...)
	errs = append(errs, validateChoice(hook.MatchPolicy, matchPolicies, path.Child("matchPolicy"))...)
	allowed := harmless
	if old.sideEffects {
		allowed = sideEffects
	}
	if hook.SideEffects == nil {
		errs = append(errs, field.Required(path.Child("sideEffects"), "must specify one of "+strings.Join(allowed, ", ")))
	} else if !hasOneOf(hook.SideEffects, allowed) {
		errs = append(errs, field.NotSupported(path.Child("sideEffects"), *hook.SideEffects, allowed))
	}
	if t := hook.TimeoutSeconds; t != nil && (*t < 1 || *t > 30) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *t, "the timeout value must be between 1 and 30 seconds"))
	}
	if s := hook.NamespaceSelector; s != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(s, old.labelSelector, path.Child("namespaceSelector"))...)
	}
	if s := hook.ObjectSelector; s != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(s, old.labelSelector, path.Child("objectSelector"))...)
	}
	errs = append(errs, validateChoice(hook.ReinvocationPolicy, reinvocationPolicies, path.Child("reinvocationPolicy"))...)
	errs = append(errs, validateClient(&hook.ClientConfig, path.Child("clientConfig"))...)
	if !old.conditions {
		errs = append(errs, validateConditions(hook.MatchConditions, old.expressions, false, path.Child("matchConditions"))...)
	}
	return errs
}

// validateChoice requires one of a few values, or none.
func validateChoice[T ~string](value *T, choices []T, path *field.Path) field.ErrorList {
	if value == nil || slices.Contains(choices, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *value, choices)}
}

func validateClient(c *admissionregistrationv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return utilwebhook.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	}
	// Name and namespace are swapped, and so are the fields in the messages, as in every Kubernetes API server.
	return utilwebhook.ValidateWebhookService(path.Child("service"), c.Service.Name, c.Service.Namespace, c.Service.Path,
		ptr.Deref(c.Service.Port, 0))
}

// validateReviewVersions requires a version that this server knows among the versions of the webhook.
func validateReviewVersions(versions []string, old leniency, path *field.Path) (errs field.ErrorList) {
	known := strings.Join(reviewVersions, ", ")
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must specify one of "+known)}
	}
	seen := sets.New[string]()
	for i, version := range versions {
		if seen.Has(version) {
			errs = append(errs, field.Invalid(path.Index(i), version, "duplicate version"))
			continue
		}
		seen.Insert(version)
		for _, msg := range validation.IsDNS1035Label(version) {
			errs = append(errs, field.Invalid(path.Index(i), version, msg))
		}
	}
	if !old.versions && !slices.ContainsFunc(versions, isReviewVersion) {
		errs = append(errs, field.Invalid(path, versions, "must include at least one of "+known))
	}
	return errs
}

func isReviewVersion(version string) bool { return slices.Contains(reviewVersions, version) }

func hasStrangeVersions(hook admissionregistrationv1.MutatingWebhook) bool {
	return len(hook.AdmissionReviewVersions) > 0 && !slices.ContainsFunc(hook.AdmissionReviewVersions, isReviewVersion)
}

func hasOneOf[T ~string](value *T, choices []string) bool {
	return value != nil && slices.Contains(choices, string(*value))
}

func hasInvalidSelector(hook admissionregistrationv1.MutatingWebhook) bool {
	invalid := func(s *metav1.LabelSelector) bool {
		return s != nil && len(metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, nil)) > 0
	}
	return invalid(hook.NamespaceSelector) || invalid(hook.ObjectSelector)
}

func haveUniqueNames(hooks []admissionregistrationv1.MutatingWebhook) bool {
	names := sets.New[string]()
	for _, hook := range hooks {
		names.Insert(hook.Name)
	}
	return len(names) == len(hooks)
}

func sameConditions(hooks, old []admissionregistrationv1.MutatingWebhook) bool {
	return slices.EqualFunc(hooks, old, func(a, b admissionregistrationv1.MutatingWebhook) bool {
		return reflect.DeepEqual(a.MatchConditions, b.MatchConditions)
	})
}

func (c Configuration) expressions() sets.Set[string] {
	expressions := sets.New[string]()
	for _, hook := range c.Webhooks {
		for _, condition := range hook.MatchConditions {
			expressions.Insert(condition.Expression)
		}
	}
	return expressions
}
