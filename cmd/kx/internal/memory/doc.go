// Package memory returns memory to the system that a quiet server no longer needs.
//
// Go's collector lets a heap double before it collects, and keeps the collected memory for later allocations. That
// suits a busy server. A server that waits, as most do most of the time, would hold this memory for as long as it
// waits. It would also hold the pages of the binary that were read only at the start, to initialise all packages: two
// thirds of the pages that were read.
//
// The package reads the runtime's counters every two seconds. No code on the path of a request calls it.
//
// Invariants: it does nothing while a server is busy. It never collects more often than the collector would with
// GOGC=100 and a heap of the same size, so each collection was due anyway.
package memory
