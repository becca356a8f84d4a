// Package resource declares the resources of resource.k8s.io. They share rules for the names of drivers, pools and
// devices, for parameters of drivers, and for the expressions that select devices.
//
// Errors of rules that Kubernetes' types declare are marked as such. [declaredRules] applies these rules, which depend
// on the version of the request. Fields that are off by default are dropped, and have no rules here. The files
// v1beta1_*.go convert the oldest version.
package resource
