// Package replicationcontroller is the resource replicationcontrollers: a number of pods made from one template, as it was
// before replica sets.
//
// It owns their defaults, validation, columns and subresources. The rules for the template are those of apps/workload.
package replicationcontroller
