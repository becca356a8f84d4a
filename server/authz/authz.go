package authz

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/union"

	"github.com/kx-apiserver/kx/server/authz/rbac"
	"github.com/kx-apiserver/kx/server/reload"
)

// Config configures the authorizers.
type Config struct {
	// Modes lists the modes of --authorization-mode in their order. It is empty with a File.
	Modes []string
	// File is an AuthorizationConfiguration, which is reloaded when it changes.
	File string
	// Webhook configures the mode Webhook.
	Webhook Webhook
	// RBAC decides in the mode RBAC.
	RBAC *rbac.Authorizer

	// Process distinguishes this process in metrics.
	Process  string
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Webhook configures the access to the authorizer of the mode Webhook, and the cache times of its answers.
type Webhook struct {
	// File is a kubeconfig.
	File string
	// Version is the version of the SubjectAccessReviews that it gets.
	Version                        string
	AuthorizedTTL, UnauthorizedTTL time.Duration
}

// Authorizer calls authorizers in their order. The first one with an opinion decides.
type Authorizer struct {
	config  Config
	chain   atomic.Pointer[chain]
	metrics *counts
	// reload is nil without a file.
	reload *reload.Keeper
}

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

// New makes the authorizer. [Authorizer.Run] reloads its file.
func New(c Config) (*Authorizer, error) {
	a := &Authorizer{config: c, metrics: newCounts(c.Registry)}
	configuration, hash, err := a.configuration()
	if err != nil {
		return nil, err
	}
	next, err := a.newChain(configuration)
	if err != nil {
		return nil, err
	}
	a.chain.Store(next)
	if c.File != "" {
		a.reload = a.keeper(hash)
	}
	return a, nil
}

// chain holds the current authorizers.
type chain struct {
	links []link
	rules authorizer.RuleResolver
}

// link is one authorizer of a chain.
type link struct {
	name            string
	kind            apiserver.AuthorizerType
	authorizer      authorizer.Authorizer
	rbac            *rbac.Authorizer // the authorizer of the kind RBAC, else nil
	allowed, denied prometheus.Counter
}

// openPaths can be read by every user, whatever the authorizers decide: otherwise a probe would depend on roles.
var openPaths = []string{"/healthz", "/livez", "/readyz"}

// Decide decides without building a sentence.
func (a *Authorizer) Decide(ctx context.Context, attributes authorizer.Attributes) Verdict {
	c := a.chain.Load()
	v := Verdict{Decision: authorizer.DecisionNoOpinion}
	if who := attributes.GetUser(); who != nil && slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		v.Decision, v.privileged = authorizer.DecisionAllow, true
		return v
	}
	if !attributes.IsResourceRequest() && attributes.GetVerb() == "get" && slices.Contains(openPaths, attributes.GetPath()) {
		v.Decision, v.open = authorizer.DecisionAllow, true
		return v
	}
	var reasons []string
	var errs []error
	for i := range c.links {
		l := &c.links[i]
		decision, reason, err := l.ask(ctx, attributes, &v)
		if decision != authorizer.DecisionNoOpinion {
			v.Decision, v.Err, v.reason, v.by = decision, err, reason, l
			l.count(decision)
			return v
		}
		if err != nil {
			errs = append(errs, err)
		}
		if reason != "" {
			reasons = append(reasons, l.name+": "+reason)
		}
	}
	v.reason, v.Err = strings.Join(reasons, "\n"), utilerrors.NewAggregate(errs)
	return v
}

// ask calls one authorizer. The RBAC authorizer leaves its whole verdict in v, so that a sentence about it is built
// only when it is read.
func (l *link) ask(ctx context.Context, attributes authorizer.Attributes, v *Verdict) (authorizer.Decision, string, error) {
	if l.rbac == nil {
		decision, reason, err := l.authorizer.Authorize(ctx, attributes)
		if err != nil {
			err = fmt.Errorf("the authorizer %s: %w", l.name, err)
		}
		return decision, reason, err
	}
	var err error
	if v.rules, err = l.rbac.Decide(ctx, attributes); err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	v.asked = true
	if v.rules.Allowed() {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, v.rules.Reason(), nil
}

func (l *link) count(decision authorizer.Decision) {
	if decision == authorizer.DecisionAllow {
		l.allowed.Inc()
		return
	}
	l.denied.Inc()
}

// Authorize decides, with the reason of a Kubernetes API server.
func (a *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	v := a.Decide(ctx, attributes)
	return v.Decision, v.Reason(), v.Err
}

// ConditionsAwareAuthorize returns the result of Authorize: no decision has conditions.
func (a *Authorizer) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

// EvaluateConditions denies, since no decision has conditions.
func (a *Authorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision,
	authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor lists what a user may do in a namespace, as far as the authorizers can tell.
func (a *Authorizer) RulesFor(ctx context.Context, who user.Info,
	namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	return a.chain.Load().rules.RulesFor(ctx, who, namespace)
}

// resolvers returns the authorizers that can list a user's permissions.
func (c *chain) resolvers() authorizer.RuleResolver {
	var all []authorizer.RuleResolver
	for i := range c.links {
		if r, ok := c.links[i].authorizer.(authorizer.RuleResolver); ok {
			all = append(all, r)
		}
	}
	return union.NewRuleResolvers(all...)
}
