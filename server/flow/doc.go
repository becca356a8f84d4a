// Package flow admits requests by priority and fairness: the requests of a level share its seats, and the flows of a
// level take turns.
//
// In come the requests with their users, and the flow schemas and priority levels in etcd, by two small watches. Out
// goes a [Seat] for each request that may run now, or a refusal if there is no room. Its filter serves the request and
// gives the seat back.
//
// Queues and turns come from the library that a Kubernetes API server uses: a queue set for each level. This package
// decides all else: which schema a request belongs to, how many seats it takes, how many seats a level has and lends,
// and which schemas name a level that does not exist.
//
// # Invariants
//
//  1. Until all objects have been read once there are two levels, as on a Kubernetes API server: exempt for
//     administrators, and catch-all for all others, with all seats of the server.
//  2. An exempt request never waits. While it has a seat, other levels can lend each other one less. So exempt watches,
//     and exempt requests that are held, give their seats back as others do.
//  3. A seat is given back once: when its request ends, is held or waits for a slow client, or when a watch has sent
//     the objects that existed before it.
//  4. An object that can't be read changes nothing: its previous state stays.
//  5. The library's metrics belong to the process. Servers in one process report the sum of all.
//  6. After [Control.Run] has returned, nothing writes any more.
package flow
