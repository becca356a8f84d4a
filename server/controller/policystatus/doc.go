// Package policystatus says in the status of ValidatingAdmissionPolicies what is wrong with the types in their expressions, as
// kube-controller-manager's validatingadmissionpolicy-status-controller does.
//
// In come the policies that change, and from the server itself which kinds their rules are about and what objects of these look like. Out go
// status.typeChecking and status.observedGeneration, applied by the field manager of upstream's controller.
//
// controller.go decides when a policy is checked, and check.go checks it.
//
// # Invariants
//
//  1. A policy is checked once for each of its generations. A kind that comes to be served later makes no difference.
//  2. A check decides nothing: the policy holds as it is.
//  3. Nothing is made, and nothing kept, while no policy changes. Schemas and environments are made for one check.
//  4. What a policy can cost is bounded: [mostKinds] kinds for a rule.
package policystatus
