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
	"k8s.io/apiserver/pkg/authorization/union"

	"github.com/kx-apiserver/kx/server/authn"
)

// New makes the authorizer.
func New() (authorizer.Authorizer, error) {
	return union.New(
		union.NamedAuthorizer{AuthorizerName: "masters", Authorizer: authorizer.AuthorizerFunc(masters)},
		union.NamedAuthorizer{AuthorizerName: "self-reviews", Authorizer: authorizer.AuthorizerFunc(selfReviews)},
		union.NamedAuthorizer{AuthorizerName: "discovery", Authorizer: authorizer.AuthorizerFunc(discovery)},
		union.NamedAuthorizer{AuthorizerName: "open-paths", Authorizer: authorizer.AuthorizerFunc(openPaths)},
	)
}

// masters allows system:masters everything.
func masters(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if u := a.GetUser(); u != nil && slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "system:masters may do all", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
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

// openPaths lets everybody read the server's health and version.
func openPaths(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if !a.IsResourceRequest() && a.GetVerb() == "get" && slices.Contains(authn.AnonymousPaths, a.GetPath()) {
		return authorizer.DecisionAllow, "anybody may read this path", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// Rules lists what a user may do by New's authorizer.
type Rules struct{}

var _ authorizer.RuleResolver = Rules{}

// RulesFor ignores the namespace, which no rule here depends on.
func (Rules) RulesFor(_ context.Context, who user.Info, _ string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
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
