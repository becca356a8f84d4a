// Package scheme knows every built-in type: how to make, recognise, default, convert, encode and decode it.
//
// It owns [Scheme], [Codecs] and [ParameterCodec], complete once the package is imported, and [StorageCodec], by which
// a resource's objects become bytes in etcd and come back. In comes the table of server/builtin/all; nothing else is
// registered anywhere.
//
// Invariants:
//
//  1. There are no internal types. Older versions of a kind convert to its storage version and back, and to no other.
//  2. What a storage codec returns is in the storage version, defaulted, with an empty apiVersion and kind: which
//     version an object is sent in is decided when it is.
//  3. A storage codec does not modify what it encodes.
package scheme
