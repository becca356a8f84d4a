// Package operation describes the operations of an API in a form that kube-openapi's builders for v2 and v3 both read.
//
// In comes an [Operation] for each method of each path, from packages that describe resources. Built-in and custom resources
// are described in different packages, which share this one. It knows nothing of resources or kinds.
package operation
