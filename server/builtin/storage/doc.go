// Package storage has what the resources of storage.k8s.io share: the rules for drivers, provisioners and parameters.
package storage
