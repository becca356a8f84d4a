package impersonation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/lru"

	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// remembered limits the users for which the last successful mode is kept.
const remembered = 10_000

// Filter decides which users may act as which others.
type Filter struct {
	authorizer *authz.Authorizer
	// last has the last successful mode of each user, which is tried first: most users always impersonate in the same
	// way.
	last *lru.Cache
}

// New returns a filter that calls the authorizer.
func New(a *authz.Authorizer) *Filter { return &Filter{authorizer: a, last: lru.New(remembered)} }

// Identity is the user to act as, and the verb that allows it.
type Identity struct {
	User user.Info
	Verb string
	// Constraint is the Verb if it belongs to the constrained form.
	Constraint string
}

// Verb is the verb of the old form, which is always tried.
const Verb = "impersonate"

// Answer is one call of the authorizer, and its verdict.
type Answer struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
	Verdict                                             authz.Verdict
}

// Authorize returns the user to act as for the user of the attributes, and the answers that allow it. If no mode does,
// it returns an error, and the refusal of each mode that was tried.
func (f *Filter) Authorize(ctx context.Context, wanted *user.DefaultInfo, attributes authorizer.Attributes) (*Identity, []Answer, error) {
	asker := attributes.GetUser()
	if asker == nil {
		return nil, nil, errors.New("no User found in the context")
	}
	var first error
	var refusals []Answer
	for _, m := range f.order(asker.GetName()) {
		if !m.fits(wanted, asker) {
			continue
		}
		a := &attempt{Filter: f, mode: m, asker: asker}
		as, err := a.try(ctx, wanted, attributes)
		if err == nil {
			f.last.Add(asker.GetName(), m)
			return as, slices.DeleteFunc(a.answers, refuses), nil
		}
		if first == nil {
			first = err
		}
		if at := len(a.answers) - 1; refuses(a.answers[at]) { // else the mode itself refuses
			refusals = append(refusals, a.answers[at])
		}
	}
	return nil, refusals, first
}

func refuses(a Answer) bool { return a.Verdict.Decision != authorizer.DecisionAllow }

// order returns the modes, with the last successful one of the user first.
func (f *Filter) order(name string) []*mode {
	last, ok := f.last.Get(name)
	if !ok {
		return modes
	}
	first := last.(*mode)
	return append([]*mode{first}, slices.DeleteFunc(slices.Clone(modes), func(m *mode) bool { return m == first })...)
}

// attempt is one mode, tried for one user.
type attempt struct {
	*Filter
	*mode
	asker user.Info
	// answers are the answers of the authorizer, in their order.
	answers []Answer
}

// try authorizes every part of acting as wanted.
func (a *attempt) try(ctx context.Context, wanted *user.DefaultInfo, attributes authorizer.Attributes) (*Identity, error) {
	if a.constrained() {
		if err := a.ask(ctx, &impersonateOn{Attributes: attributes, mode: a.name}); err != nil {
			return nil, err
		}
	}
	who := *wanted
	if err := a.username(ctx, &who); err != nil {
		return nil, err
	}
	if wanted.UID != "" {
		if err := a.ask(ctx, a.attributes(authenticationGroup, "uids", wanted.UID)); err != nil {
			return nil, err
		}
	}
	if err := a.groups(ctx, wanted.Groups); err != nil {
		return nil, err
	}
	if err := a.extra(ctx, wanted.Extra); err != nil {
		return nil, err
	}
	switch {
	case who.Name == user.Anonymous:
		ensureGroup(&who, user.AllUnauthenticated)
	case !slices.Contains(who.Groups, user.AllUnauthenticated):
		ensureGroup(&who, user.AllAuthenticated)
	}
	as := &Identity{User: &who, Verb: a.verb()}
	if a.constrained() {
		as.Constraint = as.Verb
	}
	return as, nil
}

// ask returns the 403 if the authorizer does not allow the attributes.
func (a *attempt) ask(ctx context.Context, attributes authorizer.Attributes) error {
	if a.mode == associatedNode {
		attributes = &ofAnyNode{attributes}
	}
	verdict := a.authorizer.Decide(ctx, attributes)
	a.answers = append(a.answers, Answer{
		Verb: attributes.GetVerb(), Group: attributes.GetAPIGroup(), Resource: attributes.GetResource(),
		Subresource: attributes.GetSubresource(), Namespace: attributes.GetNamespace(), Name: attributes.GetName(), Verdict: verdict,
	})
	decision, reason, err := verdict.Decision, verdict.Reason(), verdict.Err
	switch {
	case decision == authorizer.DecisionAllow: // even with an error
		return nil
	case apierrors.IsForbidden(err):
		return err
	case err != nil && reason != "":
		reason = fmt.Sprintf("%v: %s", err, reason)
	case err != nil:
		reason = err.Error()
	}
	return responsewriters.ForbiddenStatusError(attributes, reason)
}

// attributes returns the attributes of a question about one part of the impersonated user.
func (a *attempt) attributes(group, resource, name string) *authorizer.AttributesRecord {
	return &authorizer.AttributesRecord{
		User: a.asker, Verb: a.verb(), APIGroup: group, APIVersion: "v1", Resource: resource, Name: name, ResourceRequest: true,
	}
}

func ensureGroup(u *user.DefaultInfo, group string) {
	if !slices.Contains(u.Groups, group) {
		u.Groups = append(slices.Clone(u.Groups), group)
	}
}

// impersonateOn changes the verb of a request's attributes to impersonate-on:MODE:VERB.
type impersonateOn struct {
	authorizer.Attributes
	mode string
}

func (i *impersonateOn) GetVerb() string {
	return "impersonate-on:" + i.mode + ":" + i.Attributes.GetVerb()
}

// ofAnyNode hides from attributes the node on which the asker runs. A user who may act as their node may do so on all
// nodes.
type ofAnyNode struct{ authorizer.Attributes }

func (o *ofAnyNode) GetName() string {
	if o.GetVerb() == associatedNode.verb() {
		return "*"
	}
	return o.Attributes.GetName()
}

func (o *ofAnyNode) GetUser() user.Info { return &withoutExtra{o.Attributes.GetUser()} }

type withoutExtra struct{ user.Info }

// GetExtra returns only the keys.
func (w *withoutExtra) GetExtra() map[string][]string {
	return map[string][]string{"authentication.kubernetes.io/associated-node-keys": slices.Sorted(maps.Keys(w.Info.GetExtra()))}
}
