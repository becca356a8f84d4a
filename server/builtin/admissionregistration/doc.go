// Package admissionregistration declares webhooks, admission policies and their bindings, with what they share: rules,
// match conditions, references to parameters, and the expressions in them.
//
// In come parts of the objects of admissionregistration.k8s.io; out go their defaults, validation errors and columns.
// Nothing here admits or refuses a request.
//
// Invariants:
//
//  1. An expression that is stored stays valid: it is compiled in the environment of stored expressions, which knows
//     all that any version of Kubernetes knew. A new one must also compile on a server that is one version older.
//  2. The environments of expressions are built when the first object with an expression is written, and not before.
package admissionregistration
