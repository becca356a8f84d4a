// Package cacher answers reads and watches of one resource from memory.
//
// It owns the present state of the resource as etcd has it, the events of the last minute or so, older events that it
// read from etcd's history for watchers, and the watchers themselves. It keeps bytes: an object.Encoded for each
// state of each object, which readers and watchers share.
//
// What comes in: calls of store.Interface and store.EncodedStorage, and changes from a store.EncodedSource beneath.
// What goes out: objects in their stored form, decoded for callers that want that; writes, which go through to the
// storage with the cached object as the first state to try; and requests to etcd for nothing but a revision.
//
// # The way of a call
//
//	Get      unset: ask etcd for the key's revision; if the cache has that one, its bytes, else the storage's
//	         0: the cached object         N: wait until the cache has seen N (WaitUntilFreshAndGet)
//	GetList  unset: ask etcd for its revision, wait until the cache has seen it, answer from a snapshot
//	         0: the cached state          N: wait until the cache has seen N
//	         exactly N, or a page: the snapshot at N, if need be made by undoing the events since
//	Watch    from the state, or from N: through etcd's history (past), if the cache's begins later, then through the
//	         cache's, until the watcher has all that others have; then live
//	writes   the storage's; the object is handed over to the cache, so that its event need not be read again
//
//	etcd's watch → Follow → watchCache.processEvent → dispatcher.dispatchEvents → a watcher's channel
//
// The journey of a write of this process records when its event passed each of these (marks).
//
// A wait costs etcd one request: the cacher asks for a progress notification. etcd answers on the cacher's own watch
// after all earlier changes.
//
// # States
//
// A cache is uninitialized until it has been filled, then fresh. Before the first read it is empty and follows
// nothing; etcd answers that read, and it begins the filling. The cache is lagging while it has not seen the revision
// that etcd is known to have, and broken while etcd's watch fails. It is refilling when it missed changes that etcd
// has compacted, or when etcd turns out to have another history. The cacher checks the history whenever a watch of
// etcd goes on where another one ended, as it does with its connection. A cache starts its watch first and fills
// afterwards, so it never has to compare. A broken cache is fresh again when a change comes on its new watch, or if
// etcd, asked after that watch has begun, is at the cache's revision.
//
// While the cache is not fresh, reads of the latest state go to etcd. Reads that may be old come from the cache,
// unless it was never filled or is refilling.
//
// Watchers survive all of that: after a refill they go through etcd's history. They end with 410 Expired in three
// cases: etcd has another history by then; etcd has compacted the revision at which the cache stopped, so that the
// histories can't be compared; or etcd has compacted changes that the watcher was not given.
//
// # Ordering
//
// Formally: let C be the changes of the resource in the order of etcd's revisions. The state at a revision R that the
// cache has seen is the result of all changes of C up to R, and of no others. A watcher that begins after revision N
// is sent exactly the changes of C after N that concern it, in the order of C, each once, up to some point; a
// bookmark at R comes after all changes up to R and before all others. A reader that asks for at least N gets the
// state at some revision not before N. A read without a revision is not older than any change that was acknowledged
// to any client before.
//
// Less formally: there is one true timeline. A list is one moment of it, and a watch one piece without gaps.
//
// # Invariants
//
//  1. No lock is held during decoding, writing to a client, waiting or tracing.
//  2. A watcher never makes another one wait, nor the cache: a slow one is behind, and goes through the history on a
//     goroutine of its own.
//  3. All memory has a limit: the history by time, number and size, together with the pages of etcd's history;
//     snapshots by number; waits by time.
//  4. A revision that etcd has not compacted is not too old. A watcher that begins there, or is that far behind, gets
//     all changes since, whatever the cache has.
//  5. Changes that etcd sent while the cache knew that its own watch had ended reach no watcher: they may come from
//     another etcd's history.
//  6. An unreadable object fails its own readers, with the storage's error, and no other ones.
package cacher
