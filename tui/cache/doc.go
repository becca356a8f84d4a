// Package cache is the screen of the watch caches: the contents of each, its range of revisions beside etcd's, and
// its watchers.
//
// It owns the last state of the caches, a watch that the user may start to see the events of a client, and the result
// of a comparison. Its input are the server's caches (kx.dev/v1alpha1) and the events of that watch. On the user's
// command it also sends requests that end a watcher.
//
// # Invariants
//
//  1. The screen polls the server once a second while it is shown, and never otherwise.
//  2. The user's watch keeps only the latest events and counts the dropped ones. It ends with the screen.
//  3. The screen keeps names and revisions of objects; the contents only of the compared object. Secrets are masked.
package cache
