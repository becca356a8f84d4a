// Package etcd is the screen of what lies below the API: etcd's keys as a tree, the revisions of one of them, its value at
// any of these, and what differs between two. All of it can be seen as it was at an earlier revision.
//
// It owns the model of the tree, of which only what was unfolded is read, a page at a time; the history of the chosen key;
// and a few of its values. What comes in are the server's keys (kx.dev/v1alpha1): lists, histories, values and a watch.
//
// # Invariants
//
//  1. Nothing is written here but compactions, and these are asked about before. What is opened in the editor is a copy.
//  2. An answer that is late, of another revision than is looked at or of another key than is chosen, is dropped.
//  3. The tree is what the server listed, and each change that the watch brought after that. What the watch can't tell, the
//     bytes of what is below a folded directory, is marked as not exact.
//  4. What the watch brings is kept in a bounded place; if more comes than fits, it is no longer followed, and the
//     screen says so.
//  5. It watches only while it is seen.
package etcd
