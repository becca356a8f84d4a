// Package metrics counts what storage on etcd does, under the names and labels that dashboards for the Kubernetes API
// server know.
//
// What comes in: one call for each request to etcd, event, list and check of a resource. What goes out: metrics in
// the registry of the server that the [Metrics] belong to.
//
// Invariant: labels are operations, groups and resources, never keys or names, so that their number is bounded by what
// the server serves.
package metrics
