// Package bench puts load on an API server and says what it cost: kx bench.
//
// It owns the load and its measurement. In come the address and credentials of any server that has
// CustomResourceDefinitions, and [Settings]: how many objects, how large, of which shape, how many requests at a time. Out
// comes a [Result]: for each operation how many a second, how long they took and, if the server's process is named, how much
// of its CPU each took. That last figure is stable on a noisy machine, where the others are not.
//
// The client shares the machine with the server, so it has to cost little. It writes frames of HTTP/2 itself, on one
// connection for 100 requests at a time; it numbers ready bodies in place, and throws answers away where nothing in them is
// needed. That saves half of its CPU. Measured over two runs of each on two busy CPUs, with 1,000 objects, as CPU of the
// client for one request or event:
//
//	          own client     net/http's client
//	get       33 to 41 µs    70 to 83 µs
//	get-rv0   37 to 40 µs    67 to 79 µs
//	watch     7 to 8 µs      13 to 14 µs
//
// A kx takes about as much for a cached read as net/http's client does. BenchmarkClient compares the two for a small GET.
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
