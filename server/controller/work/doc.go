// Package work has what controllers share: the storages that they call, as whom, how their writes become journeys
// ([Writer]), what is waiting for them ([Loop]), how they pause after a failure, and [Owned], the objects of a resource
// by which a server describes itself.
//
// In come the installed storages by resource, looked up each time, since custom resources come and go, and keys that
// are to be looked at, with the revision that gave cause to it. Out go requests to storages in this process, without
// HTTP, and admitted as those of clients are; metrics; and the state of each loop, for who looks at the server.
//
// # Invariants
//
//  1. A key waits in a loop once, however often it was added, and is worked on by one goroutine at a time.
//  2. One that fails is tried again, each time later, and delays no other. A panic is such a failure.
//  3. A write is a journey whose user is the controller, whose cause is the revision that woke it, and whose first step
//     says what was decided, unless it is quiet. Rules neither hold nor disturb it.
//  4. A write of a controller of kube-controller-manager is admitted ([Writer.Create], [Writer.Update],
//     [Writer.Delete]). What a server writes for itself ([Kit.Self]) is not.
package work
