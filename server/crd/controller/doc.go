// Package controller runs the controllers of CustomResourceDefinitions. They have upstream's names and the same
// effects.
//
// Each has its own file:
//
//	naming         which names a definition gets: NamesAccepted, status.acceptedNames
//	establishing   when it is served for good: Established
//	nonstructural  what is wrong with its schema: NonStructuralSchema
//	apiapproval    whether an API of Kubernetes' own is approved: KubernetesAPIApprovalPolicyConformant
//	finalizing     deletes its objects before it goes: Terminating
//	discovery      tells clients what is served
//
// The lister reports changes to all of them. They write through the storage of
// customresourcedefinitions/status, and [Controllers] runs them. A [queue] of names and a [statusWriter], whose
// writes fail if the definition has changed, are their common parts.
//
// # From a 201 to served
//
//	POST          the definition, with an empty status
//	naming        one write: NamesAccepted, and Established is false, "Installing"
//	establishing  one write, when lister has seen the first: Established
//	discovery     at the next request for a document
//
// No step waits for a clock, and any number of servers may do this on one etcd at once.
package controller
