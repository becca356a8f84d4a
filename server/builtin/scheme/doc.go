// Package scheme makes, recognises, defaults, converts, encodes and decodes every built-in type.
//
// [Scheme], [Codecs] and [parameterCodec] are complete once the package is imported. [StorageCodec] turns a
// resource's objects into bytes for etcd and back. All types come from the table of server/builtin/all; no other code
// registers any.
//
// Invariants:
//
//  1. There are no internal types. Older versions of a kind convert to its storage version and back, and to no other.
//  2. A storage codec returns objects in the storage version, defaulted, with an empty apiVersion and kind: the
//     response chooses the version that a client gets.
//  3. A storage codec does not modify what it encodes.
package scheme
