// Package pod declares the resource pods.
//
// It handles the pod as a whole: its first status, the changes that an update may make, deletion, selectors and
// kubectl's columns. Package core/podspec defaults and validates the spec.
//
// Most of a pod's spec is immutable, since a kubelet runs the first version. Only the subresource status changes the
// status. Binding assigns the pod to a node, eviction deletes it unless a disruption budget forbids that, and resize
// changes the resources of its containers. Log, exec, attach, portforward and proxy connect to its node through
// server/kubelet.
package pod
