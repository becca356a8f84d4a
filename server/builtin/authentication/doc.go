// Package authentication answers who somebody is: the reviews of the group authentication.k8s.io, of which none is kept.
//
// In comes a review, by POST; out goes one with the answer in its status: who asks (SelfSubjectReview), or whom a token
// is of, by the server's own authenticator (TokenReview).
//
// Invariants: a token that is nobody's is an answer and not an error. Tokens are in no log and no journey.
package authentication
