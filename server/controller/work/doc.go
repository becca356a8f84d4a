// Package work holds the common parts of controllers: access to storages, the user and the journeys of writes
// ([Writer]), the queue of keys ([Loop]), pauses after failures, and [ManagedResource], for resources in which a server
// describes itself.
//
// In come the installed storages by resource, looked up each time, since custom resources come and go, and keys
// to examine, each with the revision that caused the look. Out go requests to storages in this process, without
// HTTP but with admission as for clients; metrics; and the state of each loop, for the server's status.
//
// # Invariants
//
//  1. A key waits in a loop once, however often it was added, and one goroutine at a time works on it.
//  2. A key that fails is retried, each time later, and delays no other. A panic is such a failure.
//  3. A write is a journey. Its user is the controller, its cause is the revision that woke the controller,
//     and its first step records the decision, unless it is quiet. Rules neither hold nor disturb it.
//  4. An attempt of a loop begins to read at one generation of the stored objects. After a rewind its writes fail, and the
//     key is tried again, which is no failure.
//  5. Writes of kube-controller-manager's controllers pass admission ([Writer.Create], [Writer.Update],
//     [Writer.Delete]). Writes of the server itself ([Kit.ServerWriter]) do not.
package work
