// Package upstream runs the Kubernetes API server's own storage tests against store/etcd3, and both on one etcd.
//
// It is a module of its own, so that kx does not depend on what it imports. It owns a thin adapter that translates
// types: options, predicates, errors. What the tests find is repaired in kx, never here.
package upstream
