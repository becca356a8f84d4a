// Package networking declares the resources of networking.k8s.io, with a file for each and one for the reference by
// which they name an object of any kind.
package networking
