// Package session reads journeys from a server: it follows their summaries live, and fetches one whole journey when
// the user opens it. It speaks kx.dev/v1alpha1 over HTTP, as any other client could.
//
// It takes a client of the server and a filter. It returns batches of summaries, for a [Ring] that the screen owns,
// and whole journeys. Every text is cleaned on arrival, so no text of a server can control the terminal.
//
// The filter is evaluated by the server. Only the server has the steps that a filter may match (step:, layer:, key:,
// why:, error:). The screen keeps summaries and parses the filter only to report errors in it.
//
// # Invariants
//
//  1. The server never waits for the screen: one goroutine reads the watch into an inbox, which drops its oldest
//     change when it is full, and counts it.
//  2. The session only signals a change. The screen drains the inbox when it draws, not at the signal.
//  3. [Session.Follow] starts anew: late changes of an earlier filter are dropped.
//  4. A Ring keeps its newest rows. The oldest row that is neither marked nor kept goes first; dropped rows are
//     counted.
//  5. A Ring belongs to one goroutine; a Session may be used by several.
package session
