// Package flow lets requests in by priority and fairness: a level's requests share its seats, and flows of a level take turns.
//
// In come requests with their users, and the flow schemas and priority levels that etcd has, by two small watches. Out goes a
// [Seat] for each request that may run now, or the refusal of one for which there is no room. What the server then does with a
// request is not its business.
//
// Levels, queues, borrowing, metrics and dumps are a library's, the one that a Kubernetes API server uses. Ours is what tells it of
// the objects, how much work a request is, and that a seat can be given back before its request ends.
//
// # Invariants
//
//  1. Until all objects have been looked at once there are two levels, as on a Kubernetes API server: exempt for administrators, and
//     catch-all for everybody else with all seats of the server.
//  2. An exempt request never waits. While it has a seat, other levels can lend each other one less. So exempt watches, and exempt requests
//     that may be held, give their seats back as others do.
//  3. A seat is given back once: when its request ends, is held, waits for a slow client, or when a watch has sent what was there
//     before it.
//  4. An object that can't be read changes nothing: what was read before stays.
//  5. The library's metrics are those of the process: servers that share one tell the sum of all.
//  6. When [Control.Run] has returned, nothing writes any more, although the library does not wait for its own writes.
package flow
