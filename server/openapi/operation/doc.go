// Package operation describes the operations of an API in a form that kube-openapi's builders for v2 and v3 both read.
//
// In comes an [Operation] for each method of each path, from the packages that describe built-in and custom resources.
// This package knows neither resources nor kinds.
package operation
