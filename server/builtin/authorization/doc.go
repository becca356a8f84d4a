// Package authorization serves the reviews of the group authorization.k8s.io. The server stores none of them.
//
// In comes a review with a question in its spec, by POST; out goes the same review with the answer in its status. The
// answers are those of the server's own authorizer, about the user that asks (SelfSubjectAccessReview,
// SelfSubjectRulesReview) or about another (SubjectAccessReview, LocalSubjectAccessReview).
//
// Invariants: a denial is an answer and not an error. A review changes nothing, here or elsewhere.
package authorization
