// Package embedded runs an etcd in this process.
//
// It owns the embedded etcd from its data directory to its listeners, and the clients that speak to it without a
// socket. It is the same etcd, with the same files, as one that runs by itself: either can open the other's directory.
// Alone it is a cluster of one, and leads as soon as it runs; [Config.Cluster] makes it one of several on this machine.
//
// In comes a [Config]; out comes a [Server] that is ready for writes, its in-process clients, and later failures.
//
// Invariants:
//
//  1. When Start returns nil, a write through a client is durable once it is acknowledged, unless Config.Ephemeral.
//  2. One process has the directory at a time. A second one gets an error at once.
//  3. A fault that etcd calls fatal ends neither this process nor a goroutine of ours. It is an error of Start, or
//     one on [Server.Errors], after which this etcd must be closed and its process should end.
//
// The callers' duties:
//
//  1. End your watches before Close: the watches of an in-process client stay open and silent after it.
//  2. Never change a value that a client returned: etcd hands the same bytes to all watchers.
//  3. Use one client for each group of watches that request progress together: a request is lost while any watch of
//     its stream catches up.
package embedded
