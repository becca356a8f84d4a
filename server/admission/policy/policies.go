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

	"github.com/kx-apiserver/kx/server/admission/kept"
	"github.com/kx-apiserver/kx/server/admission/match"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/builtin"
)

// Config is what policies need.
type Config struct {
	Namespace  match.ReadNamespace
	Authorizer authorizer.UnconditionalAuthorizer
}

// Policies are those of one server.
type Policies struct {
	config Config
	keeper *kept.Keeper
	// ofKind finds the objects of a kind that may be params. It is set when the API is installed, before the first request.
	ofKind func(schema.GroupVersionKind) (Params, bool)
	// rules matches rules. It has no namespaces: it is never asked about selectors.
	rules      *matching.Matcher
	mutating   set[*mutator]
	validating set[*validator]
}

// New makes the policies. They must follow a keeper and be initialized before the first write.
func New(c Config) *Policies {
	return &Policies{config: c, rules: matching.NewMatcher(nil, nil)}
}

// Initialize says where params are.
func (p *Policies) Initialize(ofKind func(schema.GroupVersionKind) (Params, bool)) { p.ofKind = ofKind }

// Follow has the keeper tell of policies and bindings.
func (p *Policies) Follow(k *kept.Keeper) error {
	p.keeper = k
	return errors.Join(
		follow(k, &p.mutating, "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", mutatingPolicy, mutatingBinding),
		follow(k, &p.validating, "validatingadmissionpolicies", "validatingadmissionpolicybindings", validatingPolicy, validatingBinding))
}

// Mutating is the plugin MutatingAdmissionPolicy. What is deleted cannot be changed.
func (p *Policies) Mutating() plugin.Plugin {
	return plugin.Plugin{
		Operations: []admission.Operation{admission.Create, admission.Update, admission.Connect}, When: p.mutating.when, Admit: p.mutate,
	}
}

// Validating is the plugin ValidatingAdmissionPolicy.
func (p *Policies) Validating() plugin.Plugin {
	return plugin.Plugin{
		Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect},
		When:       p.validating.when, Validate: p.validate,
	}
}

// policy is one that has bindings. E evaluates its expressions.
type policy[E any] struct {
	name      string
	about     *selection
	paramKind *registrationv1.ParamKind
	// ignores says that the failurePolicy is Ignore.
	ignores   bool
	bindings  []*binding
	evaluator func() E
}

// binding says where a policy holds.
type binding struct {
	name   string
	policy string
	// about is nil if it is about everything that the policy is about.
	about    *selection
	paramRef *registrationv1.ParamRef
	actions  []registrationv1.ValidationAction
}

// set has the policies in the order of their names. api is nil until they are known, and static are those of files, which come first.
type set[E any] struct {
	api    atomic.Pointer[configured[E]]
	static atomic.Pointer[[]*policy[E]]
}

// configured are the policies of the API.
type configured[E any] struct {
	all []*policy[E]
	// unreadable are the keys of policies and bindings that can't be read.
	unreadable []string
}

// when says that there may be a policy that is about a write. Nobody knows before all policies are known.
func (s *set[E]) when(a admission.Attributes) bool {
	if static := s.static.Load(); static != nil && len(*static) > 0 {
		return !match.Exempt(a)
	}
	api := s.api.Load()
	return (api == nil || len(api.all)+len(api.unreadable) > 0) && !match.Exempt(a) && !configures(a)
}

// configures says that a write is one of policies or bindings. Those of the API are not asked about it: what they refuse could not be
// repaired otherwise.
func configures(a admission.Attributes) bool {
	return a.GetResource().Group == registrationv1.GroupName && slices.Contains(own, a.GetResource().Resource)
}

// own are the resources by which policies are configured.
var own = []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}

// all returns the policies that may be about a write, once they are known.
func (s *set[E]) all(ctx context.Context, k *kept.Keeper, a admission.Attributes) (all []*policy[E], err error) {
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
	if err := kept.Readable(a, api.unreadable); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return api.all, nil
	}
	return slices.Concat(all, api.all), nil
}

// together are the policies that have bindings, in the order of their names.
func together[E any](policies map[string]policy[E], bindings map[string][]*binding) []*policy[E] {
	all := []*policy[E]{}
	for name, one := range policies {
		if one.bindings = bindings[name]; len(one.bindings) > 0 {
			all = append(all, &one)
		}
	}
	slices.SortFunc(all, func(a, b *policy[E]) int { return strings.Compare(a.name, b.name) })
	return all
}

// follow keeps in s the policies that have bindings. One that has not changed is not compiled again.
func follow[P, B builtin.Object, E any](k *kept.Keeper, s *set[E], policies, bindings string, ofPolicy func(P) policy[E], ofBinding func(B) *binding) error {
	known := map[string]policy[E]{}
	bound := map[string][]*binding{}
	objects := map[string]P{}
	var lostPolicies, lostBindings []string
	changed := func() {
		s.api.Store(&configured[E]{all: together(known, bound), unreadable: slices.Concat(lostPolicies, lostBindings)})
	}
	return errors.Join(
		kept.Follow(k, registrationv1.Resource(policies), func(all []P, unreadable []string) {
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
		}),
		kept.Follow(k, registrationv1.Resource(bindings), func(all []B, unreadable []string) {
			bound, lostBindings = byPolicy(all, ofBinding), unreadable
			changed()
		}))
}

func byPolicy[B builtin.Object](all []B, of func(B) *binding) map[string][]*binding {
	bound := map[string][]*binding{}
	for _, obj := range all {
		b := of(obj)
		bound[b.policy] = append(bound[b.policy], b)
	}
	return bound
}

func mutatingPolicy(p *registrationv1.MutatingAdmissionPolicy) policy[*mutator] {
	return policy[*mutator]{
		name: p.Name, about: newSelection(p.Spec.MatchConstraints), paramKind: p.Spec.ParamKind, ignores: ignores(p.Spec.FailurePolicy),
		evaluator: sync.OnceValue(func() *mutator { return compileMutating(p) }),
	}
}

func mutatingBinding(b *registrationv1.MutatingAdmissionPolicyBinding) *binding {
	made := &binding{name: b.Name, policy: b.Spec.PolicyName, paramRef: b.Spec.ParamRef}
	if b.Spec.MatchResources != nil {
		made.about = newSelection(b.Spec.MatchResources)
	}
	return made
}

func validatingPolicy(p *registrationv1.ValidatingAdmissionPolicy) policy[*validator] {
	return policy[*validator]{
		name: p.Name, about: newSelection(p.Spec.MatchConstraints), paramKind: p.Spec.ParamKind, ignores: ignores(p.Spec.FailurePolicy),
		evaluator: sync.OnceValue(func() *validator { return compileValidating(p) }),
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
