// Package kxapi serves kx's own API group, kx.dev/v1alpha1: the journeys of this process's requests, its watch caches, its
// source and structure, and what etcd has below them.
//
// It owns the storages of the group. A resource is one value, which says its names, its columns, and how to get, list and
// watch it; its storage has exactly the verbs that the value has functions for. Breakpoints, faults, recordings, commands and
// compactions can also be created. So can access reviews, which say why somebody may do something. What comes in are requests
// like those for any resource, for journeys also ?filter= in the language of core/filter. What goes out are the types of
// core/kxapi/v1alpha1.
//
// Invariants:
//
//  1. etcd holds nothing of this group. What is not in another room's memory already is in this process, and bounded.
//  2. No request waits for whoever follows journeys: a follower reads the recorder's changes at its own pace. One that falls
//     behind further than the recorder remembers gets 410 Expired and lists again.
//  3. The resourceVersion of a journey, breakpoint or fault is the number of its last change, counted from when this process
//     began. A version of another process, or from before a restart, is 410 Expired: the client lists again.
//  4. A follower with more than [journeysABatch] new journeys every [batchEvery] gets a sample of them. A bookmark says how
//     many were left out, if the client takes bookmarks.
//  5. Requests for this group are not recorded, since following would feed itself. So they are never held either.
//  6. Reading a cache makes nobody wait: the answer is a copy of what the cache is at that moment.
//  7. The map of the server (structure) is drawn when it is asked for, from the chain of filters, the installer's notes, the
//     live serving infos and the embedded source. No list of them is kept a second time.
//     The journeys of installs are made in the same way, of the notes of those who installed. They are not among the
//     recorder's, and a list has them only if it is asked for the verb install by name.
//  8. Roles say who may use it, like any other group. Breakpoints, faults and commands also take a server whose flags allow them, or
//     a recording that does, for its time.
//  9. Keys are read only, and secrets are masked in every form (core/mask). The memory for one request is
//     a page of values, whatever the prefix.
package kxapi
