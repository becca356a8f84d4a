// Package lease has one of several processes on an etcd be the one whose controllers run, by a Lease in kube-system, as
// kube-controller-manager does with its own.
//
// In come the installed storages and what is to be done while the Lease is held. Out goes the Lease, renewed every two
// seconds, and who holds it, for who looks at the server.
//
// # Invariants
//
//  1. What is to be done ends before this process may hold the Lease again. When it is lost because etcd can't be
//     reached, the other process may have begun by then: controllers bear that, by their own invariants.
//  2. A process that stops in order gives the Lease back, so that the next one begins at once. One that is killed has
//     it for at most 15 seconds.
//  3. Renewals are no journeys: they would be most of what is recorded on an idle server.
package lease
