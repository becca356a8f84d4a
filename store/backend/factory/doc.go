// Package factory turns configuration into storage.
//
// It owns the configuration of a storage, and the parts that the storages of one server share ([Pool]): connections
// to etcd, the compactor, the metrics, the memory for encoded objects. Several servers in one process have one Shared
// each.
//
// In comes a [ConfigForResource]; out comes a store.Interface and the function that ends it.
//
// Invariants:
//
//  1. Storages with the same [Pool] and [TransportConfig] share one connection to etcd and one compactor. Both live
//     from the first Create until the last DestroyFunc.
//  2. Each storage has watch streams of its own, also on a shared connection: a progress request is lost while any
//     watch of the same stream catches up.
//  3. A DestroyFunc may be called any number of times; the first call counts.
package factory
