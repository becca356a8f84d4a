// Package replicaset is the resource replicasets: a number of pods made of one template.
//
// It owns their defaults, validation, columns and subresources. What is said here about a selector and the template it
// must select is said for deployments too, which import it.
package replicaset
