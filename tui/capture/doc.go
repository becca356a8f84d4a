// Package capture is the first screen: it lists every request of the server, live, and shows the steps of the request
// under the cursor with their details.
//
// It takes journeys from a [session.Session], and commands. It owns the list of requests, its filter, the open
// request, and the places of its panes (layout). The panes list, steps and detail own their cursors.
//
// # Invariants
//
//  1. The open journey is the one under the list's cursor. An answer that comes after the cursor moved on is dropped.
//  2. The request that the user looks at stays in place: opening a pane other than the list stops following, and so
//     does a step. Following waits while the request under the cursor is held.
//  3. A typed filter is applied once it parses: until then the old result stays.
package capture
