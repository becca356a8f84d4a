package authz

import (
	"context"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/authn"
)

// fixed are what authorizers allow where there may be no roles for it.
const fixed = "fixed"

// fixedLinks let people ask about themselves, and read what the server has.
func (a *Authorizer) fixedLinks() []link {
	of := func(name string, f authorizer.AuthorizerFunc) link {
		return link{name: name, kind: fixed, authorizer: f, allowed: a.metrics.decisions.WithLabelValues(fixed, name, "allowed")}
	}
	links := []link{of("self-reviews", selfReviews), of("discovery", discovery), of("open-paths", anybodysPaths)}
	if !a.config.DefaultRoles { // else these list the same
		links[0].authorizer = struct {
			authorizer.Authorizer
			authorizer.RuleResolver
		}{links[0].authorizer, fixedRules{}}
	}
	return links
}

// aboutOneself has the resources by which clients ask about themselves, by group.
var aboutOneself = map[string][]string{
	authenticationv1.GroupName: {"selfsubjectreviews"},
	authorizationv1.GroupName:  {"selfsubjectaccessreviews", "selfsubjectrulesreviews"},
}

// selfReviews lets authenticated users ask who they are and what they may do, as the role system:basic-user does.
func selfReviews(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if u := a.GetUser(); u != nil && a.IsResourceRequest() && a.GetVerb() == "create" && a.GetSubresource() == "" &&
		slices.Contains(u.GetGroups(), user.AllAuthenticated) && slices.Contains(aboutOneself[a.GetAPIGroup()], a.GetResource()) {
		return authorizer.DecisionAllow, "whoever is known may ask about themselves", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// discoveryPaths are what clients read before anything else: which resources there are, and how they look. A star stands for all
// below.
var discoveryPaths = []string{"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"}

// discovery lets authenticated users read what the server has, as the role system:discovery does.
func discovery(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	u := a.GetUser()
	if u == nil || a.IsResourceRequest() || a.GetVerb() != "get" || !slices.Contains(u.GetGroups(), user.AllAuthenticated) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	for _, path := range discoveryPaths {
		if below, star := strings.CutSuffix(path, "*"); path == a.GetPath() || star && strings.HasPrefix(a.GetPath(), below) {
			return authorizer.DecisionAllow, "whoever is known may read which resources there are", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// anybodysPaths lets everybody read the server's health and version.
func anybodysPaths(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if !a.IsResourceRequest() && a.GetVerb() == "get" && slices.Contains(authn.AnonymousPaths, a.GetPath()) {
		return authorizer.DecisionAllow, "anybody may read this path", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// fixedRules list what a user may do by fixedLinks, or as an administrator.
type fixedRules struct{}

// RulesFor ignores the namespace, which no rule here depends on.
func (fixedRules) RulesFor(_ context.Context, who user.Info, _ string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	var resources []authorizer.ResourceRuleInfo
	var paths []authorizer.NonResourceRuleInfo
	all := []string{"*"}
	if slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		resources = append(resources, &authorizer.DefaultResourceRuleInfo{Verbs: all, APIGroups: all, Resources: all})
		paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: all, NonResourceURLs: all})
	}
	if slices.Contains(who.GetGroups(), user.AllAuthenticated) {
		for _, group := range slices.Sorted(maps.Keys(aboutOneself)) {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: []string{"create"}, APIGroups: []string{group}, Resources: aboutOneself[group],
			})
		}
		paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: []string{"get"}, NonResourceURLs: discoveryPaths})
	}
	return resources, append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: []string{"get"}, NonResourceURLs: authn.AnonymousPaths}), false, nil
}
