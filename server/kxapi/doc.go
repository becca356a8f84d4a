// Package kxapi serves kx's own API group, kx.dev/v1alpha1: the journeys of the requests that this process served, its
// watch caches, and what etcd has below them.
//
// It owns the storages of the group, which keep nothing in etcd: they read a trace.Recorder and cacher.Caches. What comes
// in are lists and gets like those of any resource, of journeys also watches and ?filter= in the language of core/filter;
// what goes out are Journeys, Caches, what a cache is found to be when it is held against etcd, and Keys.
//
// Invariants:
//
//  1. No request waits for whoever follows journeys: a follower reads the recorder's changes at its own pace, and one that
//     falls behind further than the recorder remembers is told 410 Expired, and lists again.
//  2. The resourceVersion of a journey is the number of its last change, counted from when this process began. One that
//     another process gave out, or this one before a restart, is 410 Expired: the client lists again.
//  3. A follower that is sent more than [journeysABatch] new journeys every [batchEvery] is sent a sample of them, and told so
//     in a bookmark, if it takes bookmarks.
//  4. Requests for this group are not recorded: following would feed itself. So they are never held either.
//  5. Who looks at caches makes nobody wait: what is read of one is a copy of what it is at that moment.
//  6. The map of the server (structure) is drawn of what is there when it is asked for: the chain of filters, what the
//     installer noted, the live serving infos, and the embedded source. No list of it is kept a second time.
//  7. Breakpoints and faults are of this process and in its memory. Whoever makes one, or tells a held request what to do, is
//     an administrator, on a server that allows it.
//  8. Keys are read only, by administrators, and what is secret is masked in every form (core/mask). What is held of etcd for
//     one request is a page of values, whatever the prefix.
package kxapi
