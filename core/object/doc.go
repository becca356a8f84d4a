// Package object sets what the storage adds to objects: an object's revision, and a list's revision, continue token and
// remaining count. And it owns [Encoded], an object kept as its stored bytes: it is decoded when somebody looks inside,
// and encoded once for all who want the same form.
//
// What comes in: objects of any type with standard metadata, typed or unstructured, and etcd's revisions. What goes
// out: the same objects with their metadata set, or the revision read from them.
//
// Invariants:
//
//  1. A revision in an object is a decimal string; none is the empty string, never "0".
//  2. Nothing but metadata is touched.
//  3. What an Encoded returns never changes, and what it writes is, byte for byte, what the encoder would write of the
//     decoded object.
package object
