// Package logs keeps the newest lines of the program's log while the screen owns the terminal, and shows them.
//
// Any goroutine may write log bytes to a [Tail]. The Tail returns clean lines. The log file beside it belongs to the
// maker of the Tail.
//
// # Invariants
//
//  1. A Tail has at most 2,000 lines of at most 4 KiB; dropped lines are counted, and cut lines are marked.
//  2. Writing to a Tail never waits for the screen.
package logs
