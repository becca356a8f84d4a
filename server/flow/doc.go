// Package flow admits requests by priority and fairness: the requests of a level share its seats, and the flows of a
// level take turns.
//
// In come requests with their users, and the flow schemas and priority levels in etcd, by two small watches. Out goes a
// [Seat] for each request that may run now, or a refusal if there is no room. Package flow takes no part in what
// follows.
//
// Levels, queues, borrowing, metrics and dumps come from the library that a Kubernetes API server uses. This package
// feeds it with the objects, estimates the work of a request, and makes it possible to give a seat back before the
// request ends.
//
// # Invariants
//
//  1. Until all objects have been read once there are two levels, as on a Kubernetes API server: exempt for
//     administrators, and catch-all for all others, with all seats of the server.
//  2. An exempt request never waits. While it has a seat, other levels can lend each other one less. So exempt watches,
//     and exempt requests that may be held, give their seats back as others do.
//  3. A seat is given back once: when its request ends, is held or waits for a slow client, or when a watch has sent
//     the objects that existed before it.
//  4. An object that can't be read changes nothing: its previous state stays.
//  5. The library's metrics belong to the process. Servers in one process report the sum of all.
//  6. After [Control.Run] has returned, nothing writes any more, although the library does not wait for its own writes.
package flow
