// Package session is what the screen knows of a server: the journeys that it follows live, and one whole journey when
// somebody opens it. It speaks kx.dev/v1alpha1 over HTTP, as any other client could.
//
// What comes in is a client of the server and a filter. What goes out are batches of summaries, for a [Ring] that the screen
// owns, and whole journeys. Every text is cleaned on its way in: nothing that a server says can do more to a terminal
// than be read.
//
// The filter is evaluated by the server. It alone has the steps, and a filter may ask for them (step:, layer:, key:,
// why:, error:); the screen, which keeps summaries, reads the filter only to say whether it can be read.
//
// # Invariants
//
//  1. The server never waits for the screen: one goroutine reads the watch into an inbox, which drops its oldest change
//     when it is full, and counts it.
//  2. The session only says that something happened. The screen drains the inbox when it draws, not then.
//  3. [Session.Follow] starts anew: what an earlier filter still brings is thrown away.
//  4. A Ring keeps its newest rows. The oldest that is neither pinned nor kept goes first; what went is counted.
//  5. A Ring belongs to one goroutine; a Session may be used by several.
package session
