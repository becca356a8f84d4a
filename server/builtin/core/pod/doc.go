// Package pod is the resource pods.
//
// It owns what is special about a whole pod: its first status, what of it may change once it exists, how it is deleted,
// what selectors see of it and kubectl's columns. Its spec's defaults and validation are those of core/podspec.
//
// A pod's spec is fixed but for a few fields, since a kubelet runs it as it was; its status belongs to the subresource
// status alone. Binding gives it to a node, eviction deletes it unless a disruption budget needs it, and resize changes
// what its containers may use. Log, exec, attach, portforward and proxy reach its node by server/kubelet.
package pod
