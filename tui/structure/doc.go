// Package structure is the screen of how the server is built: the filters that each request passes, the servers that are
// asked one after the other, the resources with their storages, strategies and routes, and why a route is not there; and the
// definitions of custom resources with what serves them.
//
// It owns a tree of the parts at the left, what is known of one part at the right, and the ways that lead from there: to the
// source, to the requests that passed there, to a cache, to keys in etcd, to a request that can be sent. What comes in is
// the server's structure (kx.dev/v1alpha1), whole when the screen is shown, and one part of it when the cursor rests on it.
//
// # Invariants
//
//  1. Nothing is shown that the server did not say. What is fetched again replaces what was there.
//  2. An answer that is late, of a part that is not chosen any more, is kept, but shown only when it is chosen again.
//  3. Only what is seen is drawn; the tree is flattened when it changes, not when it is drawn.
package structure
