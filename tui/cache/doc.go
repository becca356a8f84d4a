// Package cache is the screen of the watch caches: what each has, how far back it goes beside etcd, and who watches.
//
// It owns what it last heard of the caches, a watch that the user may start to see what a client would get, and what came
// of a comparison. What comes in are the server's caches (kx.dev/v1alpha1) and the events of that watch; what goes out
// besides are requests that end a watcher, if the user wants that.
//
// # Invariants
//
//  1. While the screen is seen it asks the server once a second, and never while it is not.
//  2. The user's watch keeps the latest events alone and says how many are gone. It ends with the screen.
//  3. Of objects only names and revisions are kept, but of the one that is compared. Those of Secrets are masked.
package cache
