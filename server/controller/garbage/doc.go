// Package garbage deletes objects whose owners are gone, as the garbage collector of kube-controller-manager does.
//
// In come the changes of all keys in etcd, by one watch over the prefix, after a first look at what is there. Out go
// deletions and updates through the installed storages of this process, and events about references that can't be
// right.
//
//	index     of each object: its UID, its owners, and whether it waits for dependents to be deleted or released; of each UID: who
//	          names it as an owner. Parsed from the stored values (scan.go); no object is decoded or kept, no watch cache filled
//	follow    fills the index page by page, and then keeps it by the watch; each change says who may have become garbage
//	collect   decides about one object at a time, by what etcd has of it and of its owners at that moment
//	write     deletes, or changes references and finalizers; each write is a journey
//	slow      keeps objects whose storage takes long, such as with a webhook that does not answer, away from all others
//	events    counts and thins out the events, as recorders of controllers do
//
// # What becomes of dependents
//
//	background   the owner goes; an object that has no owner left goes after it
//	foreground   the owner stays, with the finalizer foregroundDeletion, until no dependent is left that blocks its deletion
//	orphan       the owner stays, with the finalizer orphan, until it is no longer named as an owner
//
// An object goes when none of its owners exists: under the name, in the object's own namespace or in none, with the UID
// that the reference says. One that also has an owner that exists loses the references to those that don't. A reference
// to a kind that is not served decides nothing, unless its owner was seen to go; it is looked at again, less and less
// often. So is an owner whose value can't be read, until such a value changes or goes.
//
// # Invariants
//
//  1. The index only suggests. Nothing is deleted or released unless etcd says so when it is read again, and each write
//     names the UID and, for deletions, the revision that was judged. Only that a UID has gone needs no second look: it
//     does not come back.
//  2. All state is in etcd. Any number of processes may do this at once: work that another one has done already is no
//     error, and a new process finds by its first look what is left to do.
//  3. An object that fails is tried again later and later. Objects that can't be read or deleted, or whose deletion
//     takes long, delay no others of other resources.
//  4. While nothing changes, nothing is done.
package garbage
