// Package metrics counts and times what the server does, under the names that the Kubernetes API server uses, so that
// dashboards and alerts made for that one read this one.
//
// What comes in: a request with its RequestInfo and what was answered. What goes out: /metrics, which gathers the
// default registry (etcd's and ours) and the one that the Kubernetes libraries register with.
package metrics
