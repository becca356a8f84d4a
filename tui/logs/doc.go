// Package logs is what the program logged while it had the terminal: the newest lines, and the screen that shows them.
//
// What comes in are the bytes of a log, into a [Tail], from any goroutine. What goes out are lines that can be shown. The
// file that the log goes to as well is whoever made the Tail's.
//
// # Invariants
//
//  1. A Tail has at most 2,000 lines of at most 4 KiB; what went or was cut is counted or marked.
//  2. Writing to a Tail never waits for the screen.
package logs
