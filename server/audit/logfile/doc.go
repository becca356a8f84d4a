// Package logfile is a log in a file that is rotated: a full file gets the time into its name, and a new one begins.
//
// In come lines. Out go the file, its backups, and what failed beside the writes. Backups are named as the Kubernetes API
// server's are, log-2006-01-02T15-04-05.000.txt beside log.txt, with .gz behind that once they are compressed; so the same
// tools find them, and one server goes on with the files of the other.
//
// # Invariants
//
//  1. A line is never split over two files, and never left out for its length: one that is longer than a file may be has a
//     file of its own.
//  2. A new file may be read by its owner alone. One that is there keeps its mode, and hands it on to the next and to its
//     compressed form.
//  3. A backup is never overwritten. The original of a compressed backup is removed only when all of it is written.
//  4. A rotation that fails loses no line: the file just grows.
//  5. Close returns after the last goroutine has ended. A compression is broken off, and begins again at the next start.
package logfile
