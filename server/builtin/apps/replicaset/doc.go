// Package replicaset is the resource replicasets: a number of pods made from one template.
//
// It owns their defaults, validation, columns and subresources. The rules for the template are those of apps/workload.
package replicaset
