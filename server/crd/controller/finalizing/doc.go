// Package finalizing deletes the objects of a definition that is being deleted, and then removes its finalizer.
//
// In come definitions from the lister and, from the [CRClientGetter], the storage of their objects. Out go deletions,
// the condition Terminating, and at the end an update that removes the finalizer
// customresourcecleanup.apiextensions.k8s.io, which ends the definition.
//
//	InstanceDeletionPending     DELETE has marked the definition; nobody can create its objects any more
//	InstanceDeletionInProgress  the objects are being deleted, in all namespaces; their finalizers may delay it
//	InstanceDeletionFailed      they can't be read, or not be deleted: tried again
//	InstanceDeletionCheck       some are still there after a minute: tried on
//	InstanceDeletionCompleted, NeverEstablished, OverlappingBuiltInResource
//	                            nothing is left to do, and the definition goes
//
// Upstream checks every 5 seconds whether the objects are gone. kx first checks after some milliseconds, and then less
// and less often.
//
// Another process may have admitted a create before it saw the definition terminating, and that create may still be
// under way. So an empty list counts only some time after the definition was seen terminating, which is longer than the
// way of a create to etcd. Upstream accepts the first empty list.
//
// # Invariants
//
//  1. The finalizer is removed only after a list of all objects, read from storage, was empty.
//  2. Only this definition's objects are deleted: no other can have its name while the finalizer is there, and the UID
//     is checked before each attempt.
//  3. Any number of processes may do this at once. Work that another one has done already is no error.
//  4. A few definitions with many objects do not delay the others.
package finalizing
