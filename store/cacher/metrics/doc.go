// Package metrics counts what watch caches do, under the names and labels that dashboards for the Kubernetes API server
// know.
//
// What comes in: one call for each event, read, watcher and fill of a resource's cache. What goes out: metrics in
// the registry of the server that the [Metrics] belong to.
//
// Invariant: labels are groups, resources and words of this package, so that their number is bounded by what the server
// serves.
package metrics
