// Package memory gives back to the system what a server needed once and, now that it is quiet, needs no longer.
//
// Go's collector lets a heap double before it collects, and keeps what it has collected for what comes next. That is
// right for a server at work. One that waits, as most do most of the time, would hold on to it for as long as it waits;
// and also to those pages of the binary that only its start read, where all packages were initialised: two thirds of
// what it read of it.
//
// What comes in is what the runtime counts, every two seconds; nothing on the way of a request asks or tells this
// package.
//
// Invariants: it does nothing while a server works; and it never collects more often than the collector itself would
// with GOGC=100 and a heap of that size, so a collection for a quiet server is one that was due.
package memory
