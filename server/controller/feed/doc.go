// Package feed tells controllers of all changes in etcd, by one watch over all keys, and the authorizer of those of
// roles.
//
// In come, in this order and again whenever a watch ends: all keys with their values as of one revision, page by page,
// and then every change after it; or those of the keys alone that begin with a part. Out go calls of the followers, one
// after the other: those of a resource, or of all of them.
//
// A follower keeps as little as it can. What it is told is only a hint that it should look: the look itself asks the
// storages, which may be asked as soon as the hint is there.
//
// # Invariants
//
//  1. A follower is called by one goroutine, so a slow one delays all: followers queue, and work elsewhere.
//  2. Between [Follower.Begin] and [Follower.End] all keys that exist are put. What a follower knew of and was not put
//     is gone.
//  3. Values are as they are stored. Who needs one has it decrypted and decoded by [admin.Decoder].
//  4. Nothing is kept here: neither keys nor values. While nothing changes, nothing is done.
package feed
