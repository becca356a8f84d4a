// Package service is the resource services, with its subresource status.
//
// A service gets a cluster IP and, depending on its type, node ports and a health check port. What is taken is recorded
// in etcd as the Kubernetes API server records it, so that several servers on one etcd never give the same thing twice:
// an address by the IPAddress of its name, the ports by a RangeAllocation (their range and a bitmap) under
// /registry/ranges/servicenodeports. Addresses are those of the ServiceCIDRs that are ready, beginning with the one
// called kubernetes, which is 10.96.0.0/12 where it is not stored; a RangeAllocation that is there already decides the
// range of ports, otherwise it is 30000-32767. The lowest free one is given, above the part that is left for services
// that ask for one.
//
// What differs from a Kubernetes API server:
//
//   - Before it gives the first one, a process records all that the existing services use, whatever is stored, so that
//     a restored etcd without these objects is safe, and deletes the IPAddresses whose service never came. Package
//     server/controller/repair does the rest that the repair loops of a Kubernetes API server do, among it to free the
//     ports of a killed process.
//   - Addresses are not given at random.
//   - The cluster has one IP family, IPv4.
//   - A service that was stored without clusterIPs and IP families, as before Kubernetes 1.20, is read as it is stored.
//     The next update gives it both.
//
// Order of a create: BeginCreate fills in IP families and allocates; then the strategy validates the whole; if anything
// fails, the finish function gives back what was taken. An update takes what is new before, and gives back what is no
// longer used after.
package service
