// Package apiapproval reports whether a definition in one of Kubernetes' own groups (k8s.io, kubernetes.io and
// those below) has an approved API.
//
// In come definitions from the lister: the annotation api-approved.kubernetes.io has the URL of the approval,
// or says that there is none. Out goes the condition KubernetesAPIApprovalPolicyConformant.
//
// # Invariants
//
//  1. Each process writes its reading of an annotation once, so that servers that read it differently do not
//     overwrite each other for ever.
package apiapproval
