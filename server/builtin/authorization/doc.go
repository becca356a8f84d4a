// Package authorization answers who may do what: the reviews of the group authorization.k8s.io, of which none is kept.
//
// In comes a review with a question in its spec, by POST; out goes the same review with the answer in its status. The
// answers are those of the server's own authorizer, about the user that asks (SelfSubjectAccessReview,
// SelfSubjectRulesReview) or about another (SubjectAccessReview, LocalSubjectAccessReview).
//
// Invariants: a review never fails because its answer is no. It changes nothing, here or elsewhere.
package authorization
