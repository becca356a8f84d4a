// Package garbage deletes objects whose owners are gone, as the garbage collector of kube-controller-manager does.
//
// In come the changes of all keys in etcd, from the feed, after a first look at all keys. Out go deletions and
// updates through the installed storages of this process, and events about invalid references.
//
//	index     for each object: its UID, its owners, and whether it waits for dependents to be deleted or released; for
//	          each UID: its dependents. Parsed from the stored values (scan.go); no object is decoded or kept, and no
//	          watch cache filled
//	follow    fills the index page by page, and then updates it from the watch; each change wakes possible garbage
//	collect   decides about one object at a time, by the present state of the object and its owners in etcd
//	write     deletes, or changes references and finalizers; each write is a journey
//	slow      separates objects whose storage takes long, for example because of a webhook that does not answer
//	events    counts and thins out the events, as recorders of controllers do
//
// # The end of an owner
//
//	background   the owner goes; an object without another owner goes after it
//	foreground   the owner stays, with the finalizer foregroundDeletion, while a dependent blocks its deletion
//	orphan       the owner stays, with the finalizer orphan, while an object names it as an owner
//
// An object goes when none of its owners exists. An owner exists if it has the name and the UID of the
// reference, in the object's own namespace or in none. An object with an existing owner loses the references to
// the others. A reference to a kind that is not served decides nothing, unless the watch has seen its owner go;
// it is checked again, less and less often. So is an owner whose value can't be read, until such a value
// changes or goes.
//
// # Invariants
//
//  1. The index only suggests. Before a deletion or a release, the state is read from etcd again, and each
//     write names the UID and, for deletions, the judged revision. Only the end of a UID needs no second look,
//     unless the watch has seen it come back, as it does when etcd is rewound.
//  2. All state is in etcd. Any number of processes may do this at once: work that another process has already
//     done is no error, and the first look of a new process finds the remaining work.
//  3. An object that fails is retried later and later. Objects that can't be read or deleted, or whose
//     deletion takes long, delay no objects of other resources.
//  4. While nothing changes, nothing is done.
package garbage
