// Package resource declares the resources of resource.k8s.io, with what they share: names of drivers, pools and
// devices, what a driver is told, and the expressions that select devices.
//
// In come parts of their objects; out go the mistakes in them, those of rules that Kubernetes' types declare marked as
// such. Declared has the latter, by the version of the request. Fields that are off by default are dropped, and have no
// rules here. The shapes of the oldest version are in the files v1beta1_*.go.
package resource
