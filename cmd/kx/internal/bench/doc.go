// Package bench puts load on an API server and says what it cost: kx bench.
//
// It owns the load, and what is measured of it. In come the address and credentials of any server that has
// CustomResourceDefinitions, and [Settings]: how many objects, how large, of which shape, how many requests at a time. Out
// comes a [Result]: for each operation how many a second, how long they took, and, if the server's process was named, how
// much of its CPU each took, which holds still on a noisy machine where the others do not.
//
// The client costs little, for it shares the machine: one HTTP/2 connection that it writes frames to itself, bodies that
// are made beforehand and numbered in place, answers that are thrown away unread where nothing in them is needed.
//
//	Run → setUp → for each operation of the table: load → tally, sample → tearDown
//
// # Invariants
//
//  1. What is made is in a group and a namespace of the run's own, and is deleted at the end, also when interrupted.
//  2. No two requests that are under way write to the same object, so there are no conflicts.
//  3. A request that fails counts as failed, never as fast. The first failure of each operation is shown.
//  4. What is kept of a measurement does not grow with the number of requests.
package bench
