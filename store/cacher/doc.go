// Package cacher answers reads and watches of one resource from memory.
//
// It owns the present state of the resource as etcd has it, the events of the last minute or so, those before that were
// read from etcd's history for somebody, and the watchers that are told of the next ones. What it keeps is bytes: an
// object.Encoded for each state of each object, which readers and watchers share. What comes in: calls of
// store.Interface and store.EncodedStorage, and changes from a store.EncodedSource beneath. What goes out: objects as
// they are stored, decoded for those who want that; writes, which go through to the storage with what the cache has as
// the first state to try; and requests to etcd for nothing but a revision.
//
// # The way of a call
//
//	Get      unset: ask etcd for the key's revision; if the cache has that one, its bytes, else the storage's
//	         0: what the cache has        N: wait until the cache has seen N (WaitUntilFreshAndGet)
//	GetList  unset: ask etcd for its revision, wait until the cache has seen it, answer from a snapshot
//	         0: what the cache has        N: wait until the cache has seen N
//	         exactly N, or a page: the snapshot at N, if need be made by undoing the events since
//	Watch    from the state, or from N: through etcd's history (past), if the cache's begins later, then through the
//	         cache's, until the watcher has all that others have; then live
//	writes   the storage's; the object is handed over to the cache, so that its event need not be read again
//
//	etcd's watch → Follow → watchCache.processEvent → dispatcher.dispatchEvents → a watcher's channel
//
// The journey of a write of this process is told when its event passed each of these (marks).
//
// To wait costs etcd one request: the cacher asks for a progress notification, and etcd answers on the cacher's own
// watch when it has sent all that there is.
//
// # States
//
// A cache is uninitialized until it has been filled, then fresh. Until somebody asks for it, it is not filled and
// follows nothing; the first read is answered by etcd, and begins the filling. It is lagging while it has not seen what
// etcd is known to have, broken while etcd's watch fails, and refilling when it missed changes that etcd no longer has,
// or when etcd turns out to have another history: that is looked at whenever a watch of etcd goes on where another one
// ended, as it does with its connection. A cache is filled after its watch has begun, and need not look. A broken cache
// is fresh again when something comes on its new watch, or if etcd, asked after that has begun, is at the cache's
// revision. What must be the latest is read from etcd while the cache is not fresh; what may be old comes from it
// unless it was never filled or is being filled again. Watchers survive all of that: after a refill they go through
// etcd's history. They end with 410 Expired if etcd has another history by then, if it has compacted the revision at
// which the cache stopped, so that nobody can tell, or if it has compacted what they were not told.
//
// # Ordering
//
// Formally: let C be the changes of the resource in the order of etcd's revisions. The state at a revision R that the
// cache has seen is the result of all changes of C up to R, and of no others. A watcher that begins after revision N is
// sent exactly the changes of C after N that concern it, in the order of C, each once, up to some point; a bookmark at
// R comes after all changes up to R and before all others. A reader that asks for at least N gets the state at some
// revision not before N, and what is asked for without a revision is not older than any change that was acknowledged to
// anybody before.
//
// Less formally: there is one true timeline. A list is one moment of it, and a watch one piece without gaps.
//
// # Invariants
//
//  1. No lock is held while anybody decodes, writes to a client, waits or is traced.
//  2. A watcher never makes another one wait, nor the cache: who does not read is behind, and goes through the history
//     on a goroutine of its own.
//  3. All that is kept has a limit: the history by time, number and size, together with what was read of etcd's;
//     snapshots by number; waits by time.
//  4. A revision that etcd has not compacted is not too old. Whoever begins there, or is that far behind, is told all
//     that happened since, whatever the cache has.
//  5. What etcd told of its history while the cache knew that its own watch had ended reaches no watcher: it may be
//     another etcd's.
//  6. An object that can't be read fails those who read it, with the storage's error, and nobody else.
package cacher
