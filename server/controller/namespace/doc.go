// Package namespace creates the namespaces that every cluster has, and empties deleted ones.
//
// In come namespaces, from a watch, and the installed storages. Out go creations and deletions through these,
// conditions in a namespace's status, and at the end an update of its subresource finalize.
//
// # The end of a namespace
//
//	DELETE             the storage sets its deletionTimestamp and the phase Terminating; admission refuses new objects
//	settle             creates that do not check the namespace as they are written have the time to be written
//	pods               are deleted; while any remain, nothing else is deleted, since they may rely on it
//	all else           is deleted, several collections at a time
//	status.conditions  report the remaining content and the failures
//	finalize           once nothing remains, the finalizer "kubernetes" is removed; the namespace goes with its last
//	                   finalizer
//
// While something remains (other finalizers, a grace period), this is repeated less and less often, for the
// resources with remaining objects, and once more for all before the namespace goes.
//
// Namespaces wait in queues, by UID. A namespace that did not end at the first attempt moves to a second queue
// with its own workers. An attempt is cut off after five seconds, and the namespace then moves to a third
// queue, whose attempts may take a minute. The next namespace of a queue does not wait for one that takes
// longer than a moment: hundreds whose webhooks do not answer delay others by seconds. However many they are,
// their number of attempts a second is limited.
//
// # Invariants
//
//  1. Any number of processes may do this on one etcd at once, independently. Each step may be repeated, and
//     work that another process has already done is no error.
//  2. No object of a later namespace with the same name is deleted. After a deletion has read the object, it
//     checks that the ending namespace still exists. If so, the object belongs to that namespace, and etcd
//     deletes exactly the object that was read.
//  3. All state is in etcd. After a restart, the list of namespaces shows which are being deleted.
//  4. An idle controller has one watch. A namespace that waits costs an entry in a queue, and no goroutine.
//
// Less formally: kill any process at any moment, and another, or the next one, continues its work.
package namespace
