// Package networking declares the resources of networking.k8s.io. Each has its own files. One more file holds the
// reference to an object of any kind.
package networking
