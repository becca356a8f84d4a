package authz

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/union"

	"github.com/kx-apiserver/kx/server/authn"
)

// New makes the authorizer. Roles take their place in the line before the end.
func New() (authorizer.Authorizer, error) {
	return union.New(
		union.NamedAuthorizer{AuthorizerName: "masters", Authorizer: authorizer.AuthorizerFunc(masters)},
		union.NamedAuthorizer{AuthorizerName: "open-paths", Authorizer: authorizer.AuthorizerFunc(openPaths)},
	)
}

// masters lets system:masters do all.
func masters(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if u := a.GetUser(); u != nil && slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "system:masters may do all", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// openPaths lets everybody read how the server is and which it is.
func openPaths(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if !a.IsResourceRequest() && a.GetVerb() == "get" && authn.AnonymousPath(a.GetPath()) {
		return authorizer.DecisionAllow, "anybody may read this path", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}
