// Package authorization serves the reviews of the group authorization.k8s.io. The server stores none of them.
//
// A client sends a review with a question in its spec by POST, and gets it back with the answer in its status. The
// server's own authorizer answers, for the user of the request (SelfSubjectAccessReview, SelfSubjectRulesReview) or
// for another user (SubjectAccessReview, LocalSubjectAccessReview).
//
// Invariants: a denial is an answer and not an error. A review changes nothing, here or elsewhere.
package authorization
