// Package kxapi serves kx's own API group, kx.dev/v1alpha1: the journeys of the requests that this process served.
//
// It owns the storages of the group, which have no etcd beneath: they read a trace.Recorder. What comes in are lists,
// gets and watches like those of any resource, and ?filter= in the language of core/filter; what goes out are Journeys.
//
// Invariants:
//
//  1. No request waits for whoever follows journeys: a follower reads the recorder's changes at its own pace, and one that
//     falls behind further than the recorder remembers is told 410 Expired, and lists again.
//  2. The resourceVersion of a journey is the number of its last change, counted from when this process began. One that
//     another process gave out, or this one before a restart, is 410 Expired: the client lists again.
//  3. A follower that is sent more than [journeysABatch] new journeys every [batchEvery] is sent a sample of them, and told so
//     in a bookmark, if it takes bookmarks.
//  4. Requests for this group are not recorded: following would feed itself.
package kxapi
