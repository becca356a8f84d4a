// Package daemonset is the resource daemonsets: a pod on each node.
//
// It owns their defaults, validation and columns. How often the template has changed is counted in an annotation, which the
// server keeps: the first versions of the group had a field for it.
package daemonset
