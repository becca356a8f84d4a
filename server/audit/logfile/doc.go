// Package logfile is a log in a file that is rotated: a full file is renamed with the time in its name, and a new one
// begins.
//
// In come lines. Out go the file, its backups, and the failures apart from those of writes. Backups have the names of a
// Kubernetes API server, log-2006-01-02T15-04-05.000.txt beside log.txt, plus .gz once they are compressed. So the same
// tools find them, and one server can continue the files of the other.
//
// # Invariants
//
//  1. A line is never split over two files, and never dropped for its length: a line longer than the limit has a file
//     of its own.
//  2. Only the owner may read a new file. An existing file keeps its mode, and so do the next file and its compressed
//     form.
//  3. A backup is never overwritten. The original of a compressed backup is removed only when all of it is written.
//  4. A rotation that fails loses no line: the file just grows.
//  5. Close returns after the last goroutine has ended. It interrupts a compression, which begins again at the next
//     start.
package logfile
