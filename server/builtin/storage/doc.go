// Package storage declares the resources of storage.k8s.io. Each has its own files. validation.go holds their common
// rules.
package storage
