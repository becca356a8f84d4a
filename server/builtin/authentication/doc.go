// Package authentication serves the reviews of the group authentication.k8s.io. The server stores none of them.
//
// In comes a review, by POST; out goes one with the answer in its status: the user who asks (SelfSubjectReview), or the
// user that the server's own authenticator finds for a token (TokenReview).
//
// Invariants: an invalid token is an answer and not an error. Logs and journeys never contain tokens.
package authentication
