// Package authz makes the server's authorizer: a chain of authorizers, of which the first with an opinion decides.
//
// In come a user and what they ask for. Out go a decision and its reason, which the request's journey shows. The end of the
// chain denies.
package authz
