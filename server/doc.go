// Package server assembles the server: from flags to a process that listens, and from a signal to an orderly stop.
//
// It owns three things:
//
//   - The parts of a server (parts, in server.go), in the order in which they start: [Start], [Server.Stop]. [Run]
//     does both, for kx serve; [Serve] does what kx serve does, in the process of a test.
//   - The chain of servers (CreateServerChain): the aggregator, the kube server, and the apiextensions server with the
//     custom resources. Each passes on the requests that it does not serve.
//   - The paths beside the APIs: health, version, metrics, discovery, OpenAPI.
//
// A request passes server/filter's chain, the paths beside the APIs, and server/endpoint's router on its way to
// server/handler.
//
// A program may serve API groups of its own beside the built-in ones, by the same router and handlers: it passes their
// endpoint.RESTStorageProvider ([endpoint.Group]) to Start.
//
// # The order of the stop
//
//  1. /readyz fails, so that load balancers send no more requests.
//  2. New requests are refused, and watches end.
//  3. Requests in flight finish or time out.
//  4. The parts close, from the last that has started to the first: the listener, then the controllers, flow control,
//     the storages, the audit log, etcd, and the data directory's lock.
//
// In short: nothing is closed while a part that started later still uses it.
//
// # Several servers in one process
//
// Each server has its own journeys, metrics, caches, connections to etcd and memory for encoded objects. A stopped
// server leaves no goroutine, no file and no metric behind. A test in cmd/kx/internal/arrows finds package-level
// variables that change, and lists the few allowed ones, with the reason.
//
// Libraries have globals of their own, which all servers of a process share:
//
//   - Prometheus' default registry, with the metrics of the Go runtime, the process and the embedded etcd; and the
//     registry of component-base, with those of client-go, authentication, webhooks and audit events. /metrics has both
//     beside the server's own.
//   - The default loggers of slog and klog, to which libraries log. Commands set them.
//   - The feature gates of k8s.io/apiserver and client-go, which nothing here changes.
package server
