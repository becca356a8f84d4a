// Package protection keeps persistent volumes and their claims while they are used, as kube-controller-manager's
// persistentvolume-protection-controller and persistentvolumeclaim-protection-controller do.
//
// In come the keys of claims and volumes that change, and pods with the claims that they name. Out go finalizers, added where they are
// missing and removed from what is being deleted and not used, and the condition Unused of bound claims.
//
// A claim is used by pods that are on a node and name it, or have it for an ephemeral volume. A volume is used while it is bound.
//
// # Invariants
//
//  1. Of pods only the names of their claims are known, so that the end of a pod wakes these claims and no others. Whether a claim is
//     used is decided by the pods that are there at that moment: where they can't be read, it stays.
//  2. One claim that can't be read or written delays no other.
package protection
