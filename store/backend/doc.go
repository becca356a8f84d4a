// Package backend gives each resource its storage.
//
// It owns the options of a resource's storage: the prefix of its keys, the transformer of its values, its codec. It is
// also the one place that decides whether a cacher stands in front of etcd.
//
// In comes a resource, through a [RESTOptionsGetter]; out go [RESTOptions], whose Decorator makes the store.Interface.
// The storage itself is made by [github.com/kx-apiserver/kx/store/backend/factory].
//
// Invariant: a resource has the same keys as in a kube-apiserver, so that each can open the other's etcd.
package backend
