// Package authentication serves the reviews of the group authentication.k8s.io. The server stores none of them.
//
// A client sends a review by POST, and gets it back with the answer in its status: the user of the request
// (SelfSubjectReview), or the user that the server's own authenticator finds for a token (TokenReview).
//
// Invariants: an invalid token is an answer and not an error. Logs and journeys never contain tokens.
package authentication
