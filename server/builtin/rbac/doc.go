// Package rbac has what roles and their bindings share: the rules of a role, and the subjects and the reference of a
// binding.
//
// In come parts of the objects of rbac.authorization.k8s.io; out go their defaults, their mistakes and their columns. The
// resources are packages below this one. Nothing here decides who may do what.
package rbac
