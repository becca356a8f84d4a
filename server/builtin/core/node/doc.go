// Package node is the resource nodes: the machines that pods run on.
//
// It owns their defaults, validation, columns and status. A kubelet writes most of a node: the status may come with a new
// node, which no other resource allows.
package node
