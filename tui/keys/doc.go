// Package keys is the way from a key to a command: a table of commands, each with its contexts, its keys, its title, its
// help, and a reason when it can't be done. Hints, help and the palette are drawn from the same table.
//
// # Invariants
//
//  1. A key means one thing in a context; [New] refuses a table in which it means two.
//  2. Where one types, characters are text: a command's keys that are characters do not count there.
//  3. There is no inheritance between contexts: a command lists each context that it has keys in.
//  4. Nothing here knows of Bubble Tea: a key is its name.
package keys
