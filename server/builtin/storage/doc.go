// Package storage declares the resources of storage.k8s.io, with a file for each and one for the rules that they share.
package storage
