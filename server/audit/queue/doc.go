// Package queue lets requests go on while their audit events wait to be sent in batches.
//
// In come events, one after the other. Out go batches, in the order in which the events came, and how many events were lost.
//
// The library has such a queue too. This one differs from it in three points. It bounds the bytes that wait, and how many batches
// are on their way at once: that one counts events only, and begins a goroutine for each batch of a webhook that hangs. It stops
// in time, whatever becomes of the batches. It tells its owner what was lost: that one logs every lost event by itself.
//
// # Invariants
//
//  1. Put never waits.
//  2. The events that wait are at most Config.Events. Their bytes, and those of the batches on their way, are at most Config.Bytes.
//  3. At most Config.Senders batches are on their way.
//  4. An event is sent once, or Config.Lost counts it.
//  5. Close returns when its context ends, or a second later: until then it sends what waits.
package queue
