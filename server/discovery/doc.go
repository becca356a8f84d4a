// Package discovery publishes the groups, versions and resources of the server.
//
// It serves /api, /apis, /apis/<group>, /api/<version> and /apis/<group>/<version>, each in JSON, YAML and protobuf.
// The first two also have the aggregated form: one document of everything, with an ETag.
//
// In come the resources of a group version when they are installed, changed or removed ([Manager]), and the
// descriptions of other servers' resources ([Remote]). Out goes an http.Handler that answers its own paths and passes
// others to a delegate.
//
// Invariants:
//
//  1. A reader takes no lock: it sees one complete snapshot.
//  2. A change makes a new snapshot. Its documents are made at the first read, and encoded once for each media type.
//  3. Groups are ordered by priority, then name; versions by priority, then as Kubernetes orders them (v2, v1, v1beta2,
//     v1beta1); resources in the order of installation. The priorities equal those of the API services, which package
//     controller writes.
package discovery
