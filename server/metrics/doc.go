// Package metrics counts and times the work of the server, under the names of a Kubernetes API server, so that
// dashboards and alerts for that one work with this one.
//
// What comes in: a request with its RequestInfo, and the response. What goes out: /metrics.
//
// Each server has a [Metrics] with a registry of its own. Two registries belong to the process: Prometheus' default
// one, where etcd and the Go runtime register, and that of component-base, where the Kubernetes libraries do. /metrics
// gathers all three; servers in one process report the same figures of the last two.
package metrics
