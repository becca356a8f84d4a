// Package migrate makes a server write objects again, so that they are stored in its current storage version and
// encryption. A [Restorer] creates objects from a snapshot again.
//
// A [Migration] returns a result for each resource. It sends an empty patch for each object through the API: the
// server compares the bytes that it would store with the stored ones, and writes if they differ.
//
// Invariants:
//
//  1. A patch is bound to the UID and resourceVersion that were read. If another client has written the object since,
//     that write has migrated it.
//  2. Objects are patched one at a time, at the requested pace.
//  3. The cursor of a stopped migration is at the start of its current page. Objects of the page that are read again
//     are already current.
package migrate
