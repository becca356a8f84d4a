// Package metrics counts and times what the server does, under the names that the Kubernetes API server uses, so that
// dashboards and alerts made for that one read this one.
//
// What comes in: a request with its RequestInfo and what was answered. What goes out: /metrics.
//
// Each server has a [Metrics] with a registry of its own. Two registries belong to the process: Prometheus' default one,
// where etcd and the Go runtime register, and that of component-base, where the Kubernetes libraries do. /metrics gathers
// all three; servers in one process tell the same figures of the last two.
package metrics
