// Package controller holds the controllers without which the API does not do what its users expect of a cluster: today
// the one that makes the namespaces every cluster has and empties those that are deleted.
//
// What comes in are the storages that are installed, by what clients call them, asked for anew each time, since custom
// resources come and go. What goes out are calls of those storages, in this process, as the user that upstream's
// controller of the same name is. No HTTP and no admission lie between.
//
// # The end of a namespace
//
//	DELETE             the storage gives it a deletionTimestamp and the phase Terminating; admission lets nothing in
//	settle             creates that were admitted before have the time to be written
//	pods               are deleted; while any remain, nothing else is touched: what they rely on goes after them
//	all else           is deleted, collection by collection
//	status.conditions  say what remains and what failed
//	finalize           once nothing remains, the finalizer "kubernetes" is taken away; with the last finalizer goes the
//	                   namespace
//
// As long as something remains (finalizers of others, a grace period), it is done again, less and less often.
//
// # Invariants
//
//  1. Any number of processes do this on one etcd at once, without knowing of each other. Each step may be repeated, and
//     what another process has done already is no error.
//  2. No object of a later namespace of the same name is deleted. A deletion asks, after it has read the object, whether
//     the namespace that is ending is still there: if it is, then the object is of that namespace, and etcd deletes
//     exactly the object that was read.
//  3. What is known is what etcd says. After a restart the list of namespaces says which are ending.
//  4. With nothing to do there is one watch.
//
// Less formally: kill any process at any moment, and another, or the next, goes on.
package controller
