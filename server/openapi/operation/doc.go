// Package operation has the operations of an API in the form that kube-openapi's builders for v2 and v3 both read.
//
// Who describes resources makes an [Operation] for each method of each path; nothing here knows of resources or kinds. It
// is a package of its own because built-in and custom resources are described in different places.
package operation
