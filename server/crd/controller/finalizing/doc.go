// Package finalizing deletes the objects of a definition that is being deleted, and then lets it go.
//
// What comes in are the definitions as lister knows them, and, from the [CRClientGetter], the storage of a definition's
// objects. What goes out are deletions, the condition Terminating, and at the end an update that takes the finalizer
// customresourcecleanup.apiextensions.k8s.io off, with which the definition goes.
//
//	InstanceDeletionPending     DELETE has marked the definition; nobody creates objects of it any more
//	InstanceDeletionInProgress  the objects are being deleted, in all namespaces; their finalizers may delay it
//	InstanceDeletionFailed      they can't be read, or not be deleted: tried again
//	InstanceDeletionCheck       some are still there after a minute: tried on
//	InstanceDeletionCompleted, NeverEstablished, OverlappingBuiltInResource
//	                            nothing is left to do, and the definition goes
//
// Upstream looks again every 5 seconds whether the objects are gone. Here it is the first time after some milliseconds, and
// then less and less often.
//
// A create that another process let in before it saw the definition terminating may still be on its way. So an empty list
// is believed only some time after the definition was seen terminating. That is longer than from there to etcd; upstream
// believes the first empty list.
//
// # Invariants
//
//  1. The finalizer goes after a list of all objects, read from storage, was empty.
//  2. What is deleted is of this definition: a later one of its name can't be there before the finalizer goes, and the
//     definition is looked at, by UID, before each attempt.
//  3. Any number of processes do this at once. What another one has done already is no error.
//  4. A definition with many objects does not keep others waiting, as long as there are not many of them.
package finalizing
