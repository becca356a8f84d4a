// Package authz makes the server's authorizer: a line of authorizers, of which the first that has an opinion decides.
//
// What comes in is who asks and for what; what goes out is a decision and its reason, which the request's journey shows.
// The last in line denies.
package authz
