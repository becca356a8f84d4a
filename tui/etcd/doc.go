// Package etcd is the screen about the storage below the API: etcd's keys as a tree, the revisions of one key, its
// value at any of them, and the difference between two. All of it can be shown as of an earlier revision.
//
// It owns the model of the tree, the history of the chosen key, and a few of its values. It reads only unfolded
// directories, a page at a time. Its input are the server's keys (kx.dev/v1alpha1): lists, histories, values and a
// watch.
//
// # Invariants
//
//  1. The screen writes nothing except compactions, after a confirmation. The editor opens a copy.
//  2. A late answer, for a revision or key that is no longer shown, is dropped.
//  3. The tree holds the server's list, plus each later change from the watch. The watch can't report the bytes below
//     a folded directory: these are marked as not exact.
//  4. Events of the watch go into a bounded buffer. If it overflows, the watch ends, and the screen reports that.
//  5. The screen watches only while it is shown.
package etcd
