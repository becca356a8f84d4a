package webhook

import (
	"context"
	"fmt"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	library "k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/match"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// ruleMatch is a webhook that has a rule for a write.
type ruleMatch struct {
	hook library.WebhookAccessor
	// resource and kind name the target of the write in the version of the rule.
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
	// rule is the number of the rule, from 1. equivalent means that it names another version of the resource.
	rule       int64
	equivalent bool
	// skipped (optional) is the reason why the webhook is not called, and about its detail.
	skipped trace.Reason
	about   string
}

var (
	webhookOtherNamespace = trace.Because("webhook-other-namespace",
		"its rule {rule} is about this write, but its namespaceSelector is not about the namespace: it is not asked",
		"第 {rule} 条规则匹配这次写入，但 namespaceSelector 不匹配该命名空间：不调用")
	webhookOtherLabels = trace.Because("webhook-other-labels",
		"its rule {rule} is about this write, but its objectSelector is not about the object: it is not asked",
		"第 {rule} 条规则匹配这次写入，但 objectSelector 不匹配该对象：不调用")
	webhookConditionFailed = trace.Because("webhook-condition-failed",
		"its rule {rule} is about this write, but a match condition can't be evaluated, and its failurePolicy is "+
			"Ignore: it is not asked",
		"第 {rule} 条规则匹配这次写入，但有匹配条件无法求值，failurePolicy 是 Ignore：不调用")
)

// match returns the webhook with the rule that matches a write, nil if there is none. It then checks selectors
// and conditions.
func (w *Webhooks) match(ctx context.Context, hook library.WebhookAccessor, a plugin.Write, in inKind) (*ruleMatch, error) {
	m := matchRules(hook, a, a.Objects)
	if m == nil {
		return nil, nil
	}
	if m.kind.Empty() {
		return nil, apierrors.NewInternalError(fmt.Errorf("unable to convert to %v: unknown kind", m.resource))
	}
	inNamespace, namespaceErr := match.Namespace(ctx, w.config.Namespace, hook, a.Attributes)
	if !inNamespace && namespaceErr == nil {
		m.skipped = webhookOtherNamespace
		return m, nil
	}
	ofLabels, objectErr := (&object.Matcher{}).MatchObjectSelector(hook, a.Attributes)
	switch {
	case !ofLabels && objectErr == nil:
		m.skipped = webhookOtherLabels
		return m, nil
	case namespaceErr != nil:
		return nil, namespaceErr
	case objectErr != nil:
		return nil, objectErr
	case len(hook.GetMatchConditions()) == 0:
		return m, nil
	}
	versioned, err := in(m.kind)
	if err != nil {
		return nil, err
	}
	result := hook.GetCompiledMatcher(w.compiler()).Match(ctx, versioned, nil, w.config.Authorizer)
	switch {
	case result.Error != nil:
		return nil, apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), result.Error)
	case !result.Matches && result.FailedConditionName == "":
		m.skipped = webhookConditionFailed
	case !result.Matches:
		m.skipped, m.about = webhookConditionFalse, result.FailedConditionName
	}
	return m, nil
}

// matchRules returns the first rule for the resource of the write. If there is none and the webhook wants
// equivalent matches, it returns the first rule for the resource in another version.
func matchRules(hook library.WebhookAccessor, a admission.Attributes, o admission.ObjectInterfaces) *ruleMatch {
	for i, rule := range hook.GetRules() {
		if (&rules.Matcher{Rule: rule, Attr: a}).Matches() {
			return &ruleMatch{hook: hook, resource: a.GetResource(), kind: a.GetKind(), rule: int64(i + 1)}
		}
	}
	mapper := o.GetEquivalentResourceMapper()
	if policy := hook.GetMatchPolicy(); policy == nil || *policy != registrationv1.Equivalent || mapper == nil {
		return nil
	}
	others := mapper.EquivalentResourcesFor(a.GetResource(), a.GetSubresource())
	for i, rule := range hook.GetRules() {
		for _, other := range others {
			if other != a.GetResource() && (&rules.Matcher{Rule: rule, Attr: asResource{a, other}}).Matches() {
				kind := mapper.KindFor(other, a.GetSubresource())
				return &ruleMatch{hook: hook, resource: other, kind: kind, rule: int64(i + 1), equivalent: true}
			}
		}
	}
	return nil
}

// asResource presents a write as if it were of another resource.
type asResource struct {
	admission.Attributes
	resource schema.GroupVersionResource
}

func (a asResource) GetResource() schema.GroupVersionResource { return a.resource }

// inKind returns the objects of a write in the kind that a webhook wants.
type inKind func(schema.GroupVersionKind) (*admission.VersionedAttributes, error)
