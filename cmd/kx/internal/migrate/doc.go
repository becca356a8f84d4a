// Package migrate makes a server write objects again, so that they are stored in its present storage version and
// encryption.
//
// What comes in are a client of the server and resources. What goes out is a result for each resource. Each object gets
// an empty patch through the API: the server compares what it would store with what is stored, and writes if they
// differ.
//
// Invariants:
//
//  1. A patch is bound to the UID and resourceVersion that were read. If somebody wrote the object since, that write
//     has migrated it.
//  2. Objects are patched one at a time, at the requested pace.
//  3. The cursor of a stopped migration is that of its current page. Objects of the page that come again are already
//     current.
package migrate
