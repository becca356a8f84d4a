// Package object sets the metadata that the storage adds: an object's revision, and a list's revision, continue token
// and remaining count. It also owns [Encoded], an object kept as its stored bytes: it is decoded on the first look
// inside, and encoded once for all readers of the same form.
//
// What comes in: objects of any type with standard metadata, typed or unstructured, and etcd's revisions. What goes
// out: the same objects with their metadata set, or the revision read from them.
//
// Invariants:
//
//  1. A revision in an object is a decimal string; none is the empty string, never "0".
//  2. Nothing but metadata is touched.
//  3. The results of an Encoded never change. Its encoded bytes equal the encoder's output for the decoded object.
package object
