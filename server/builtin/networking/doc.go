// Package networking has what resources of networking.k8s.io share: the reference by which they name an object of any kind.
//
// The resources are packages below this one.
package networking
