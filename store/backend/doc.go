// Package backend gives each resource its storage.
//
// It owns the options of a resource's storage and how they follow from the server's: the prefix its keys have on disk,
// the transformer of its values, its codec, and the one place that decides whether a cacher stands in front of etcd.
//
// In comes a resource, through a [RESTOptionsGetter]; out go [RESTOptions], whose Decorator makes the store.Interface.
// The storage itself is made by [github.com/kx-apiserver/kx/store/backend/factory].
//
// Invariant: a resource's keys are those that a kube-apiserver has for it, so that each can open the other's etcd.
package backend
