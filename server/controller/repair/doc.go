// Package repair puts right who has which cluster IP and which node port, as the repair loops of a Kubernetes API
// server do.
//
// In come services, IPAddresses, ServiceCIDRs and the RangeAllocation of node ports, from the feed. Out go IPAddresses
// that are created and deleted, a RangeAllocation that says what services have, and events on services and IPAddresses,
// in upstream's words.
//
// [Addresses] sees to it that each cluster IP has an IPAddress that names the service, and that no IPAddress of the
// allocator is without its service. [Ports] sees to it that the RangeAllocation has the node ports of all services, and
// no others.
//
// # What is stored
//
// Package server/builtin/core/service gives out addresses and ports, and stores both where a Kubernetes API server
// does. So neither trusts the other blindly:
//
//   - A kx that comes after a Kubernetes API server marks the ports of all services before it gives out the first one,
//     whatever the bitmap says. Then this package frees what leaked.
//   - A Kubernetes API server that comes after a kx rebuilds the bitmap from the services when it starts.
//   - Where both run on one etcd, each changes the bitmap in a transaction, and takes no port that the other has
//     marked.
//
// # Invariants
//
//  1. The index says only what is to be looked at. Objects are written and deleted by what is stored at that moment.
//  2. What may be about to be used stays: an IPAddress waits a minute for its service, a port nine. Upstream waits as
//     long.
//  3. Two services with one address or one port keep it: somebody has to decide. The event says so, once until it
//     changes.
//  4. While a service can't be read, no port is freed.
package repair
