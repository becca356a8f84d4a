// Package controller looks after CustomResourceDefinitions: it does what upstream's controllers of the same names do, in this
// process.
//
// Each has a room of its own, with its reason:
//
//	naming         which names a definition gets: NamesAccepted, status.acceptedNames
//	establishing   when it is served for good: Established
//	nonstructural  what is wrong with its schema: NonStructuralSchema
//	apiapproval    whether an API of Kubernetes' own is approved: KubernetesAPIApprovalPolicyConformant
//	finalizing     deletes its objects before it goes: Terminating
//	discovery      tells clients what is served
//
// All of them are told of changes by lister, write through the storage of customresourcedefinitions/status, and are run by
// [Controllers]. work has what they share: a queue, and writes that are made on the state that was judged or not at all.
//
// # From a 201 to served
//
//	POST          the definition, with an empty status
//	naming        one write: NamesAccepted, and Established is false, "Installing"
//	establishing  one write, when lister has seen the first: Established
//	discovery     when somebody asks
//
// Nothing waits for a clock, and any number of servers do this on one etcd at once.
package controller
