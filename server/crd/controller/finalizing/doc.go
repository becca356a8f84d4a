// Package finalizing deletes the objects of a definition that is being deleted, and then removes its finalizer.
//
// In come definitions from the lister and, from the [CRClientGetter], the storage of their objects. Out go
// deletions, the condition Terminating, and at the end an update that removes the finalizer
// customresourcecleanup.apiextensions.k8s.io, which ends the definition.
//
//	InstanceDeletionPending     DELETE has marked the definition; its objects can no longer be created
//	InstanceDeletionInProgress  the objects are being deleted, in all namespaces; their finalizers may delay it
//	InstanceDeletionFailed      they can't be read or deleted: tried again
//	InstanceDeletionCheck       some still exist after a minute: tried again
//	InstanceDeletionCompleted, NeverEstablished, OverlappingBuiltInResource
//	                            nothing is left to do, and the definition goes
//
// Upstream checks every 5 seconds whether the objects are gone. kx first checks after some milliseconds, and
// then less and less often.
//
// Another process may have admitted a create before it saw the definition terminating, and that create may
// still be on its way to etcd. So an empty list counts only if the definition was seen terminating some time
// ago, longer than a create takes. Upstream accepts the first empty list.
//
// # Invariants
//
//  1. The finalizer is removed only after a list of all objects, read from storage, was empty.
//  2. Only this definition's objects are deleted: no other can have its name while the finalizer exists, and
//     the UID is checked before each attempt.
//  3. Any number of processes may do this at once. Work that another process has already done is no error.
//  4. A few definitions with many objects do not delay the others.
package finalizing
