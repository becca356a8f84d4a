// Package customresource serves the objects of one CRD: everything that makes a version of a custom resource a
// resource like any other.
//
// It owns [Resource], which is created once for a definition: the one storage of its objects, and for every
// version a [Version] with its REST storages, its strategies, its serializer and its tables. In come a
// definition, storage options, and a converter. Out go rest interfaces and the parts of a request scope;
// server/crd decides when to serve them.
// # The path of an object
//
// Handlers, admission, strategies and tables of a version see objects only in that version. A body is parsed,
// pruned (unknown fields, nulls, metadata) and defaulted by the schema of the version that the client sent.
// Objects are stored as JSON in the CRD's storage version. A stored object may be in an older version: it is
// pruned and defaulted by the schema of that version, and then converted. The Kubernetes API server does the
// same.
//
// # One storage
//
// There is one storage below all versions. It returns objects in the version in which they are stored, and
// takes objects in the storage version. Every other version has a [view] in front of it, which converts. The
// storage version has a view only if status.storedVersions shows that objects may be stored in another version.
// A webhook converts 512 KiB of a LIST at a time, while the list is sent, and the pending events of a watch
// together.
//
// # Invariants
//
//  1. A [Resource] is immutable and shared by requests. A changed definition is another Resource.
//  2. Bytes are only ever written in the storage version, pruned by its schema.
//  3. A conversion that fails fails the read, the write, or the watch. No object is left out.
//  4. Conversion changes only labels and annotations in metadata, so names, namespaces and resourceVersions
//     are the same on either side of a view.
package customresource
