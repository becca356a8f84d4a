// Package capture is the first screen: every request of the server, live, and for the one under the cursor the steps that
// it took and what is known of each.
//
// What comes in is what a [session.Session] hears from the server, and commands. It owns the list of requests, the filter
// that it is of, which of them is open, and where its panes go (layout). The panes themselves, list, steps and detail, own
// their cursors.
//
// # Invariants
//
//  1. The open journey is the one under the list's cursor. An answer that comes after the cursor moved on is dropped.
//  2. Who looks at a request does not have it moved away: opening a pane other than the list stops following, and so does a
//     step. Following waits while the request under the cursor is held.
//  3. What is typed into the filter is applied when it can be read, and not before: until then the old result stays.
package capture
