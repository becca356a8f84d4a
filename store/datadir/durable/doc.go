// Package durable writes files whose names survive a crash of the machine, and parts of files that survive no crash of
// their writer.
//
// In comes the name of a file or of a directory; out come a [Part] to write to, and names that are on the disk.
//
// Invariants:
//
//  1. A part has a name of its own, and only its owner can read it.
//  2. A part whose writer is dead is removed by the next writer to the same file. One that is still written stays: its
//     writer holds a lock.
package durable
