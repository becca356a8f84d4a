// Package tui is the screen: it follows the requests of a server and shows, for each, the steps that it took.
//
// It is a client like any other: what comes in is a [rest.Config] and keys, what goes out is a terminal. What it shows
// can be had with `kubectl get journeys` too.
//
// # How it is made
//
// There is one tea.Model, [model]. It knows which pane has the focus and which overlay is open, and routes. What it
// routes to are plain structs and pure functions, each in a package of its own:
//
//	layout   where things go on a screen of a size
//	keys     which command a key is, in which context
//	session  what the server says: a live list of requests, one whole journey
//	pane/…   list, steps, detail: what is seen, and its cursor
//	prompt   a line that is typed into
//	draw     text that fits; theme, its colours
//
// # Invariants
//
//  1. The server never waits for the screen. The session collects; the screen drains it at most every 33 ms, and only if
//     something happened. Nothing runs while nothing happens.
//  2. A frame has exactly the lines and cells of the terminal.
//  3. What takes time is a command with a context. An answer that comes after the cursor moved on is dropped.
//  4. Nothing else writes to the terminal.
//  5. A panic, wherever it is, leaves the terminal as it was and its stack in a file that is named.
package tui
