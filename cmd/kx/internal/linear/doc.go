// Package linear is the screen for who has it read out, or has no terminal: lines that are only ever added, without
// colours, and every command by its name.
//
// What comes in are the requests of a session, as they end or are held, and lines of commands. What goes out is a line
// a request, and what was asked for: a story, one sentence after the other, the steps, the code, the changes.
//
// # Invariants
//
//  1. What is written is never overwritten. No escape code is written.
//  2. While somebody reads a request, no other is told of between the lines. How many came is said with the next
//     command.
package linear
