// Package timing divides the time of a request: each step's own work without its calls, requests to etcd, waits for
// the watch cache, and deliberate holds or delays.
//
// It takes a journey, and returns durations and, for each step, a bar in a given number of cells. It is pure.
// Concurrent steps may take more time together than their caller; negative times count as 0.
package timing
