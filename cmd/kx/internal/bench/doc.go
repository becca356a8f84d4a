// Package bench puts load on an API server and measures its cost, for kx bench.
//
// [Run] works with any server that has CustomResourceDefinitions. [Settings] sets the number, size and shape of
// objects, and the number of concurrent requests. A [Result] holds the rate and the latency of each operation and, if
// the server's process is named, the server's CPU. Only the CPU is stable on a noisy machine.
//
// The client shares the machine with the server, so it must be cheap. It writes HTTP/2 frames itself, on one connection
// for 100 concurrent requests. It numbers prepared bodies in place, and discards answers that it does not need. That
// saves half of its CPU. Measured over two runs of each on two busy CPUs, with 1,000 objects, as CPU of the client for
// one request or event:
//
//	          own client     net/http's client
//	get       33 to 41 µs    70 to 83 µs
//	get-rv0   37 to 40 µs    67 to 79 µs
//	watch     7 to 8 µs      13 to 14 µs
//
// A kx spends about as much on a cached read as net/http's client does. BenchmarkClient compares the two for a small
// GET.
//
//	Run → setUp → for each operation of the table: load → tally, sample → tearDown
//
// # Invariants
//
//  1. A run creates objects in a group and a namespace of its own, and deletes them at the end, also when interrupted.
//  2. No two requests write to the same object at the same time, so there are no conflicts.
//  3. A failed request counts as failed, never as fast. The first failure of each operation is shown.
//  4. The memory for a measurement does not grow with the number of requests.
package bench
