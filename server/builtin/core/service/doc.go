// Package service is the resource services, with its subresource status.
//
// A service gets a cluster IP and, depending on its type, node ports and a health check port from pools. What is
// taken is recorded in etcd as the Kubernetes API server records it, a RangeAllocation (its range and a bitmap) under
// /registry/ranges/serviceips and /registry/ranges/servicenodeports, so that several servers on one etcd never give the
// same number twice. A RangeAllocation that is there already decides the range; otherwise it is 10.96.0.0/12, and
// 30000-32767 for ports. The lowest free number is given, above the part that is left for services that ask for one.
//
// What is not as in a Kubernetes API server:
//
//   - There is no loop that repairs the bitmaps. Instead, before its first allocation a process marks all that the
//     existing services use, so that a restored etcd without RangeAllocations is safe. A number that a killed process took
//     and did not use stays taken.
//   - Newer API servers record cluster IPs as IPAddress objects. One of those and kx must not create services in the same
//     etcd at the same time.
//   - The cluster has one IP family, IPv4.
//   - Deleting a service does not delete its Endpoints: those are not served.
//   - A service that was stored without clusterIPs and IP families, as before Kubernetes 1.20, is read as it is stored. The
//     next update gives it both.
//
// Order of a create: BeginCreate fills in IP families and allocates; then the strategy validates the whole; if anything
// fails, the finish function gives back what was taken. An update takes what is new before, and gives back what is no
// longer used after.
package service
