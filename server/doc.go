// Package server puts the parts together: from flags to a server that listens, and from a signal to one that has stopped
// in good order.
//
// It owns the chain of servers ([CreateServerChain]: the kube server, behind it the apiextensions server, behind that
// nothing), what is served beside the APIs (health, version, metrics, discovery, OpenAPI), and the life of the process:
// [Start], [Server.Stop].
//
// A request comes in through server/filter's chain, then here through the paths beside the APIs, then through
// server/endpoint's router into server/handler.
//
// # The order of the stop
//
//  1. /readyz fails, so that nobody sends more.
//  2. New requests are turned away, watches are told to end.
//  3. Requests in flight finish, or their time is up.
//  4. The listener closes, then the controllers end, then the storages, etcd, and the data directory's lock.
//
// Less formally: nothing is closed that somebody above it still uses.
package server
