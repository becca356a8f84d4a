// Package repair corrects the allocation of cluster IPs and node ports, as the repair loops of a Kubernetes API
// server do.
//
// In come services, IPAddresses, ServiceCIDRs and the RangeAllocation of node ports, from the feed. Out go
// created and deleted IPAddresses, a RangeAllocation that matches the services, and events on services and
// IPAddresses, in upstream's words.
//
// [Addresses] ensures that each cluster IP has an IPAddress that names the service, and that each IPAddress of
// the allocator has its service. [Ports] ensures that the RangeAllocation has the node ports of all services,
// and no others.
//
// # What is stored
//
// Package server/builtin/core/service allocates addresses and ports, and stores both as a Kubernetes API server
// does. Neither trusts the other blindly:
//
//   - A kx that follows a Kubernetes API server marks the ports of all services before it allocates the first one,
//     whatever the bitmap contains. Then this package frees leaked ports.
//   - A Kubernetes API server that follows a kx rebuilds the bitmap from the services when it starts.
//   - If both run on one etcd, each changes the bitmap in a transaction, and takes no port that the other has marked.
//
// # Invariants
//
//  1. The index only selects what to examine. Writes and deletions depend on what is stored at that moment.
//  2. An allocation that a request may be about to use stays: an IPAddress waits a minute for its service, a
//     port nine. Upstream waits as long.
//  3. Two services with one address or one port keep it: a user has to decide. An event reports it once, until
//     it changes.
//  4. While a service can't be read, no port is freed.
package repair
