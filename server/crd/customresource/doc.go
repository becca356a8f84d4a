// Package customresource serves the objects of one CRD: all that a version of a custom resource needs to be a resource
// like any other.
//
// It owns [Resource], which is made once of a definition: the one storage of its objects, and for every version a
// [Version] with its REST storages, its strategies, its serializer and its tables. What comes in: a definition, how to
// store, how to convert. What goes out: rest interfaces, and what a request scope is made of; server/crd decides who
// serves them, and when.
//
// # The path of an object
//
// Handlers, admission, strategies and tables of a version see objects in that version and no other. A body is parsed,
// pruned (unknown fields, nulls, metadata) and defaulted by the schema of the version that it was sent in. What is
// stored is JSON in the CRD's storage version. What was stored may be in an older one: it is pruned and defaulted by
// the schema of the version that it is stored in, and converted after that. All of this is what the Kubernetes API
// server does.
//
// # One storage
//
// There is one storage below all versions. Objects come out of it in the version that they are stored in, and have to
// go in in the storage version. Every other version has a [view] in front of it, which converts. The storage version
// has one only if status.storedVersions says that objects may be stored in another version. A webhook converts 512 KiB
// of a LIST at a time, while the list is sent, and of a watch the events that wait to be sent.
//
// # Invariants
//
//  1. A [Resource] is immutable and shared by requests. A changed definition is another Resource.
//  2. Bytes are only ever written in the storage version, pruned by its schema.
//  3. A conversion that fails fails the read, the write, or the watch. No object is left out.
//  4. Versions convert metadata only in labels and annotations, so names, namespaces and resourceVersions can be looked
//     at on either side of a view.
package customresource
