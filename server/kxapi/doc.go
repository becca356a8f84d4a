// Package kxapi serves kx's own API group, kx.dev/v1alpha1: the journeys of this process's requests, its watch caches,
// its source and structure, and the keys in etcd.
//
// It owns the storages of the group. A resource is one value with its names, its columns, and functions that get, list
// and watch it. Its storage has exactly the verbs for which the value has functions. Breakpoints, faults,
// recordings, commands, compactions, snapshots, rewinds and access reviews can also be created. What comes in are
// requests like those for any resource, for journeys also ?filter= in the language of core/filter. What goes out are
// the types of core/kxapi/v1alpha1.
//
// Invariants:
//
//  1. etcd holds nothing of this group. Everything is in the memory of this process, and bounded.
//  2. No request waits for a client that follows journeys: a follower reads the recorder's changes at its own pace. One
//     that falls behind further than the recorder remembers gets 410 Expired and lists again.
//  3. The resourceVersion of a journey, breakpoint or fault is the number of its last change, counted from the start of
//     this process. A version of another process, or from before a restart, is 410 Expired: the client lists again.
//  4. A follower with more than [journeysABatch] new journeys every [batchEvery] gets a sample of them. A bookmark has
//     the number of omitted ones, if the client takes bookmarks.
//  5. Requests for this group are not recorded, because following would feed itself. So they are never held either.
//  6. Reading a cache delays no request: the response is a copy of the cache's current state.
//  7. The map of the server (structure) is made for each request, from the chain of filters, the installer's notes, the
//     live serving infos and the embedded source. No list of them is kept a second time. The journeys of installs are
//     made in the same way, from the notes of the installers. They are not among the recorder's, and a list has them
//     only if it asks for the verb install by name.
//  8. Roles decide who may use it, as for any other group. Breakpoints, faults and commands also require a server whose
//     flags allow them, or a recording that does, for its time.
//  9. Only a server that keeps nothing takes snapshots, and only a rewind to one of them writes below the API.
//     Other writes of the server wait meanwhile.
//  10. Keys are read-only, and secrets are masked in every form (core/mask). The memory for one request is a page of
//     values, whatever the prefix.
package kxapi
