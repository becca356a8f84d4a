// Package lease chooses the one of several processes on an etcd that runs the controllers, by a Lease in
// kube-system, as kube-controller-manager does with its own.
//
// In come the installed storages, and a function to run while the Lease is held. Out goes the Lease, renewed
// every two seconds, and its holder, for the server's status.
//
// # Invariants
//
//  1. The function ends before this process gives the Lease back, and before it may hold it again. If the Lease
//     is lost because etcd can't be reached, another process may have begun by then: the invariants of
//     controllers allow that.
//  2. A process that stops in order gives the Lease back, so that the next one begins at once. A killed
//     process keeps it for at most 15 seconds.
//  3. Renewals are no journeys: they would be most of the records of an idle server.
package lease
