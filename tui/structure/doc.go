// Package structure is the screen about the parts of the server: the filters that each request passes, the chain of
// servers, the resources with their storages, strategies and routes, the reasons for missing routes, and the
// definitions of custom resources with the handlers that serve them.
//
// It owns a tree of the parts at the left, the sheet of one part at the right, and the links from there: to the
// source, to requests through the part, to a cache, to keys in etcd, to a request to send. Its input is the server's
// structure (kx.dev/v1alpha1): a list of all parts when the screen is shown, and one whole part when the cursor rests
// on it.
//
// # Invariants
//
//  1. The screen shows only data of the server. A new fetch replaces the old data.
//  2. A late answer, for a part that is no longer chosen, is kept, but shown only when the part is chosen again.
//  3. Only visible rows are drawn; the tree is flattened when it changes, not when it is drawn.
package structure
