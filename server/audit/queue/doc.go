// Package queue lets requests go on while their audit events wait to be sent in batches.
//
// In come events, one after the other. Out go batches, in the order of the events, and the number of lost events.
//
// The library has such a queue, too. This one differs in three points:
//
//   - It limits the queued bytes and the concurrent batches. The library counts events only, and starts a goroutine for
//     each batch of a webhook that hangs.
//   - It stops in time, even if batches hang.
//   - It reports losses to its owner. The library logs every lost event.
//
// # Invariants
//
//  1. Put never waits.
//  2. At most Config.Events events are queued. Their bytes, together with those of the batches on their way, are at
//     most Config.Bytes.
//  3. At most Config.Senders batches are on their way.
//  4. An event is sent once, or Config.Lost counts it.
//  5. Close sends the queued events. It returns at the latest a second after its context ends.
package queue
