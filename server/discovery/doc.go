// Package discovery tells clients which groups, versions and resources the server has.
//
// It owns /api, /apis, /apis/<group>, /api/<version> and /apis/<group>/<version>, each in JSON, YAML and protobuf, and on
// the first two the aggregated form, one document of everything with an ETag.
//
// What comes in: the resources of a group version, when they are installed, change or go away ([Manager]). What goes
// out: an http.Handler that answers the paths it knows and leaves the others to a delegate.
//
// Invariants:
//
//  1. A reader takes no lock: it sees one snapshot, whole, of some moment.
//  2. A change makes a new snapshot; what a snapshot says is worked out when first read, and encoded once for each media
//     type.
//  3. Groups are ordered by priority, then name; versions as Kubernetes orders them (v2, v1, v1beta2, v1beta1); resources
//     as they were given.
package discovery
