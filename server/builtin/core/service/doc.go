// Package service declares the resource services, with the subresources status and proxy.
//
// A service gets a cluster IP and, depending on its type, node ports and a health check port. Allocations are
// recorded in etcd in the form of the Kubernetes API server, so that several servers on one etcd never allocate the
// same address or port twice. An IPAddress records the address of its name. A RangeAllocation under
// /registry/ranges/servicenodeports records the range of ports and a bitmap of the taken ones. Addresses come from
// the ready ServiceCIDRs, first from the one named kubernetes, whose default is 10.96.0.0/12. Ports come from the
// range of the stored RangeAllocation; the default is 30000-32767. A service gets the lowest free one above the part
// that is reserved for specific requests.
//
// Differences from a Kubernetes API server:
//
//   - Before its first allocation, a process records the addresses and ports of all existing services, so that a
//     restored etcd without these records is safe. It also deletes IPAddresses whose service was never stored.
//     Package server/controller/repair does the other work of upstream's repair loops, such as freeing the ports that
//     a killed process took.
//   - Addresses are not allocated at random.
//   - The cluster has only one IP family, IPv4.
//   - A service that was stored without clusterIPs and IP families, by Kubernetes before 1.20, is returned without
//     them. Its next update adds both.
//
// In a create, BeginCreate fills in IP families and allocates. Then the strategy validates the whole service. If a
// step fails, the finish function releases the allocation. An update allocates additions before the write, and
// releases unused ones after it.
package service
