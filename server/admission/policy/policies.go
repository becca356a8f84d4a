package policy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/admission/match"
	"github.com/kx-apiserver/kx/server/admission/mirror"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/coverage"
)

// Config holds what policies need from the server.
type Config struct {
	Namespace  match.ReadNamespace
	Authorizer authorizer.UnconditionalAuthorizer
	// Observe (optional) is called after each evaluation of an expression.
	Observe coverage.Observer
}

// Policies holds the policies of one server.
type Policies struct {
	config Config
	keeper *mirror.Keeper
	// ofKind returns the params of a kind. It is set when the API is installed, before the first request.
	ofKind func(schema.GroupVersionKind) (Params, bool)
	// rules matches rules only. It never evaluates selectors, so it needs no namespaces.
	rules      *matching.Matcher
	mutating   set[*mutator]
	validating set[*validator]
}

// New creates Policies. They must follow a keeper and be initialized before the first write.
func New(c Config) *Policies {
	return &Policies{config: c, rules: matching.NewMatcher(nil, nil)}
}

// Initialize sets the source of params.
func (p *Policies) Initialize(ofKind func(schema.GroupVersionKind) (Params, bool)) { p.ofKind = ofKind }

// Follow registers with the keeper for policies and bindings.
func (p *Policies) Follow(k *mirror.Keeper) error {
	p.keeper = k
	return errors.Join(
		follow(k, &p.mutating, "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", p.mutatingPolicy, mutatingBinding),
		follow(k, &p.validating, "validatingadmissionpolicies", "validatingadmissionpolicybindings", p.validatingPolicy, validatingBinding))
}

// Mutating returns the plugin MutatingAdmissionPolicy. It skips deletes, which change no object.
func (p *Policies) Mutating() plugin.Plugin {
	return plugin.Plugin{
		Operations: []admission.Operation{admission.Create, admission.Update, admission.Connect},
		When:       p.mutating.mayMatch, Admit: p.mutate,
	}
}

// Validating returns the plugin ValidatingAdmissionPolicy.
func (p *Policies) Validating() plugin.Plugin {
	return plugin.Plugin{
		Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect},
		When:       p.validating.mayMatch, Validate: p.validate,
	}
}

// policy is a policy that has bindings. E evaluates its expressions.
type policy[E any] struct {
	name      string
	about     *selection
	paramKind *registrationv1.ParamKind
	// ignores means that the failurePolicy is Ignore.
	ignores   bool
	bindings  []*binding
	evaluator func() E
}

// binding limits a policy to some writes, and gives it params and actions.
type binding struct {
	name   string
	policy string
	// about is nil if the binding covers everything that the policy covers.
	about    *selection
	paramRef *registrationv1.ParamRef
	actions  []registrationv1.ValidationAction
}

// set holds the policies in the order of their names. api is nil until they are known. static holds policies
// from files, which run first.
type set[E any] struct {
	api    atomic.Pointer[apiPolicies[E]]
	static atomic.Pointer[[]*policy[E]]
}

// apiPolicies holds the policies of the API.
type apiPolicies[E any] struct {
	all []*policy[E]
	// unreadable holds the keys of policies and bindings that can't be read.
	unreadable []string
}

// mayMatch reports whether a policy may match a write. Until all policies are known, the answer is yes.
func (s *set[E]) mayMatch(a admission.Attributes) bool {
	if static := s.static.Load(); static != nil && len(*static) > 0 {
		return !match.Exempt(a)
	}
	api := s.api.Load()
	return (api == nil || len(api.all)+len(api.unreadable) > 0) && !match.Exempt(a) && !configures(a)
}

// configures reports whether a write concerns policies or bindings. Policies of the API do not judge these
// writes: a policy that refused them could not be repaired.
func configures(a admission.Attributes) bool {
	return a.GetResource().Group == registrationv1.GroupName && slices.Contains(own, a.GetResource().Resource)
}

// own lists the resources that configure policies.
var own = []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies",
	"mutatingadmissionpolicybindings"}

// all waits until policies are known, and returns those that may match a write.
func (s *set[E]) all(ctx context.Context, k *mirror.Keeper, a admission.Attributes) (all []*policy[E], err error) {
	if static := s.static.Load(); static != nil {
		all = *static
	}
	if configures(a) {
		return all, nil
	}
	if err := k.Await(ctx, a); err != nil {
		return nil, err
	}
	api := s.api.Load()
	if err := mirror.Readable(a, api.unreadable); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return api.all, nil
	}
	return slices.Concat(all, api.all), nil
}

// boundPolicies returns the policies that have bindings, in the order of their names.
func boundPolicies[E any](policies map[string]policy[E], bindings map[string][]*binding) []*policy[E] {
	all := []*policy[E]{}
	for name, one := range policies {
		if one.bindings = bindings[name]; len(one.bindings) > 0 {
			all = append(all, &one)
		}
	}
	slices.SortFunc(all, func(a, b *policy[E]) int { return strings.Compare(a.name, b.name) })
	return all
}

// follow keeps s up to date with the policies that have bindings.
func follow[P, B builtin.Object, E any](k *mirror.Keeper, s *set[E], policies, bindings string, ofPolicy func(P) policy[E],
	ofBinding func(B) *binding) error {
	tellPolicies, tellBindings := tellers(s, ofPolicy, ofBinding)
	return errors.Join(
		mirror.Follow(k, registrationv1.Resource(policies), tellPolicies),
		mirror.Follow(k, registrationv1.Resource(bindings), tellBindings))
}

// tellers returns the functions that take all policies, and all bindings, into s. s stays unknown until both were
// called: policies without their bindings judge no write. An unchanged policy is not compiled again.
func tellers[P, B builtin.Object, E any](
	s *set[E], ofPolicy func(P) policy[E], ofBinding func(B) *binding,
) (tellPolicies func([]P, []string), tellBindings func([]B, []string)) {
	var known map[string]policy[E]
	var bound map[string][]*binding
	var objects map[string]P
	var lostPolicies, lostBindings []string
	changed := func() {
		if known != nil && bound != nil {
			s.api.Store(&apiPolicies[E]{all: boundPolicies(known, bound), unreadable: slices.Concat(lostPolicies, lostBindings)})
		}
	}
	tellPolicies = func(all []P, unreadable []string) {
		before, seen := known, objects
		known, objects = map[string]policy[E]{}, map[string]P{}
		for _, obj := range all {
			name := obj.GetName()
			one, same := before[name]
			if !same || any(seen[name]) != any(obj) {
				one = ofPolicy(obj)
			}
			known[name], objects[name] = one, obj
		}
		lostPolicies = unreadable
		changed()
	}
	tellBindings = func(all []B, unreadable []string) {
		bound, lostBindings = byPolicy(all, ofBinding), unreadable
		changed()
	}
	return tellPolicies, tellBindings
}

func byPolicy[B builtin.Object](all []B, of func(B) *binding) map[string][]*binding {
	bound := map[string][]*binding{}
	for _, obj := range all {
		b := of(obj)
		bound[b.policy] = append(bound[b.policy], b)
	}
	return bound
}

func (p *Policies) mutatingPolicy(obj *registrationv1.MutatingAdmissionPolicy) policy[*mutator] {
	return policy[*mutator]{
		name: obj.Name, about: newSelection(obj.Spec.MatchConstraints), paramKind: obj.Spec.ParamKind,
		ignores:   ignores(obj.Spec.FailurePolicy),
		evaluator: sync.OnceValue(func() *mutator { return compileMutating(obj, p.config.Observe) }),
	}
}

func mutatingBinding(b *registrationv1.MutatingAdmissionPolicyBinding) *binding {
	made := &binding{name: b.Name, policy: b.Spec.PolicyName, paramRef: b.Spec.ParamRef}
	if b.Spec.MatchResources != nil {
		made.about = newSelection(b.Spec.MatchResources)
	}
	return made
}

func (p *Policies) validatingPolicy(obj *registrationv1.ValidatingAdmissionPolicy) policy[*validator] {
	return policy[*validator]{
		name: obj.Name, about: newSelection(obj.Spec.MatchConstraints), paramKind: obj.Spec.ParamKind,
		ignores:   ignores(obj.Spec.FailurePolicy),
		evaluator: sync.OnceValue(func() *validator { return compileValidating(obj, p.config.Observe) }),
	}
}

func validatingBinding(b *registrationv1.ValidatingAdmissionPolicyBinding) *binding {
	made := &binding{name: b.Name, policy: b.Spec.PolicyName, paramRef: b.Spec.ParamRef, actions: b.Spec.ValidationActions}
	if b.Spec.MatchResources != nil {
		made.about = newSelection(b.Spec.MatchResources)
	}
	return made
}

func ignores(p *registrationv1.FailurePolicyType) bool {
	return p != nil && *p == registrationv1.Ignore
}
