// Package feed reports all changes in etcd to controllers, through one watch over all keys. Others use it for
// some keys, such as those of roles for the authorizer.
//
// In come, in this order and again whenever a watch ends: all keys with their values as of one revision, page
// by page, and then every change after it. [Feed.Only] limits both to keys with a prefix. Out go calls of the
// followers, one after the other, each for its resources or for all.
//
// A follower keeps as little as it can. A call is only a hint to look: the look itself reads from the storages,
// which are usable as soon as the hint arrives.
//
// # Invariants
//
//  1. One goroutine calls all followers, so a slow one delays all: followers queue, and work elsewhere.
//  2. Between [Follower.Begin] and [Follower.End] all existing keys are put. A key that a follower knows and
//     that is not put is gone.
//  3. Values are in their stored form. A follower that needs one uses [admin.Decoder] to decrypt and decode
//     it.
//  4. The feed keeps neither keys nor values. While nothing changes, it does nothing.
package feed
