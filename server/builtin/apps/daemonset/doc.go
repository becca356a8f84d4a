// Package daemonset is the resource daemonsets: a pod on each node.
//
// It owns their defaults, validation and columns. The server counts changes of the template in an annotation: the first
// versions of the group had a field for them.
package daemonset
