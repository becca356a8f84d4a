package rbac

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Authorizer decides by the roles and bindings that Replace and Apply give it.
type Authorizer struct {
	now atomic.Pointer[index]
	// known closes when the first index exists.
	known chan struct{}

	// mu guards bindings, and is held while the next index is made.
	mu       sync.Mutex
	bindings map[id]*binding
}

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

// New returns an authorizer that waits for [Authorizer.Replace].
func New() *Authorizer { return &Authorizer{known: make(chan struct{})} }

// Replace sets all roles and bindings.
func (a *Authorizer) Replace(all []Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := editor{
		next:     index{roles: map[id]*role{}, users: map[string]subject{}, groups: map[string]subject{}},
		bindings: map[id]*binding{},
	}
	for i := range all {
		e.apply(&all[i])
	}
	a.bindings = e.bindings
	if a.now.Swap(&e.next) == nil {
		close(a.known)
	}
}

// Apply applies changes. Replace must have been called before.
func (a *Authorizer) Apply(changes []Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := editor{next: *a.now.Load(), bindings: a.bindings}
	for i := range changes {
		e.apply(&changes[i])
	}
	a.now.Store(&e.next)
}

// Known reports whether Replace has been called.
func (a *Authorizer) Known() bool { return a.now.Load() != nil }

// index returns the current index, and waits for the first one.
func (a *Authorizer) index(ctx context.Context) (*index, error) {
	if x := a.now.Load(); x != nil {
		return x, nil
	}
	select {
	case <-a.known:
		return a.now.Load(), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("RBAC: the roles and bindings have not been read from etcd yet: %w", context.Cause(ctx))
	}
}

// Authorize allows a request if a rule does, and has no opinion otherwise. Its reason is that of a Kubernetes API
// server.
func (a *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	v, err := a.Decide(ctx, attributes)
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	if v.Allowed() {
		return authorizer.DecisionAllow, v.Reason(), nil
	}
	return authorizer.DecisionNoOpinion, v.Reason(), nil
}

// ConditionsAwareAuthorize returns the result of Authorize: rules have no conditions.
func (a *Authorizer) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

// EvaluateConditions denies, since no decision has conditions.
func (a *Authorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision,
	authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// Decide is Authorize without building a sentence.
func (a *Authorizer) Decide(ctx context.Context, attributes authorizer.Attributes) (Verdict, error) {
	x, err := a.index(ctx)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{index: x, who: attributes.GetUser(), asked: questionOf(attributes)}
	if v.who != nil {
		v.grant, v.failed = x.find(v.who, &v.asked)
	}
	return v, nil
}

// Rules returns the rules of a user in a namespace and in the cluster. If some roles can't be read, it returns an error
// along with the rules of the others.
func (a *Authorizer) Rules(ctx context.Context, who user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	x, err := a.index(ctx)
	if err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	var errs []error
	for _, b := range x.bindingsIn(who, namespace) {
		more, err := x.rulesOf(b.to, b.namespace)
		if err != nil {
			errs = append(errs, err)
		}
		rules = append(rules, more...)
	}
	return rules, utilerrors.NewAggregate(errs)
}

// RulesFor returns Rules in the form of reviews.
func (a *Authorizer) RulesFor(ctx context.Context, who user.Info,
	namespace string) (resources []authorizer.ResourceRuleInfo, paths []authorizer.NonResourceRuleInfo, incomplete bool, err error) {
	rules, err := a.Rules(ctx, who, namespace)
	for i := range rules {
		r := &rules[i]
		if len(r.Resources) > 0 {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames,
			})
		}
		if len(r.NonResourceURLs) > 0 {
			paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs})
		}
	}
	return resources, paths, false, err
}
