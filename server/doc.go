// Package server assembles the server: from flags to a process that listens, and from a signal to an orderly stop.
//
// It owns the chain of servers ([CreateServerChain]: the aggregator, behind it the kube server, behind that the
// apiextensions server, behind that nothing), what is served beside the APIs (health, version, metrics, discovery,
// OpenAPI), and the life of a server: [Start], [Server.Stop].
//
// A request passes server/filter's chain, the paths beside the APIs, and server/endpoint's router on its way to
// server/handler.
//
// A program may have groups of its own served beside the built-in ones, by the same router and handlers: Start takes
// their endpoint.RESTStorageProvider ([endpoint.Group]).
//
// # The order of the stop
//
//  1. /readyz fails, so that load balancers send no more requests.
//  2. New requests are refused, and watches end.
//  3. Requests in flight finish or time out.
//  4. The listener closes, then the controllers, flow control, the storages, the audit log, etcd, and the data
//     directory's lock.
//
// Less formally: nothing is closed that a layer above still uses.
//
// # Several servers in one process
//
// Each server has its own journeys, metrics, caches, connections to etcd and memory for encoded objects. A server that
// has stopped leaves neither a goroutine nor a file nor a figure behind. A test in cmd/kx/internal/arrows finds
// package-level variables that change, and lists the few that may, with the reason.
//
// Libraries have globals of their own, which servers share:
//
//   - Prometheus' default registry, with the metrics of the Go runtime, the process and the embedded etcd; and the
//     registry of component-base, with those of client-go, authentication, webhooks and audit events. /metrics has both
//     beside the server's own.
//   - The default loggers of slog and klog, to which libraries log, and which commands set.
//   - The feature gates of k8s.io/apiserver and client-go, which nothing here changes.
package server
