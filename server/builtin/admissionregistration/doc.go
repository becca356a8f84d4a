// Package admissionregistration declares webhooks, admission policies and their bindings. They share rules, match
// conditions, references to parameters, and expressions.
//
// The package defaults and validates the objects of admissionregistration.k8s.io, and makes their columns. It does
// not admit or refuse requests.
//
// Invariants:
//
//  1. A stored expression stays valid: it is compiled in the environment of stored expressions, which includes the
//     functions of every version of Kubernetes. A new expression must also compile on a server that is one version
//     older.
//  2. The environments of expressions are built only when the first object with an expression is written.
package admissionregistration
