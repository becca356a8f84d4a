// Package apiapproval says of a definition in one of Kubernetes' own groups (k8s.io, kubernetes.io and what is below them)
// whether its API has been approved.
//
// What comes in are the definitions as lister knows them: the annotation api-approved.kubernetes.io has the URL of the
// approval, or says that there is none. What goes out is the condition KubernetesAPIApprovalPolicyConformant.
//
// # Invariants
//
//  1. What the annotation says is written once in each process, so that servers which read it differently do not take
//     turns.
package apiapproval
