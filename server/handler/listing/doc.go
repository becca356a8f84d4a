// Package listing writes lists item by item: lists of objects, of their metadata, and tables.
//
// What comes in: a [Document], which is a list without its items; the items; and a function that encodes each item's
// element. What goes out: the bytes that the encoder would write for the whole list, in JSON, in JSON for people, in
// YAML or in protobuf.
//
// Invariants:
//
//  1. The bytes equal those of the encoder. A list is its empty document with the items inserted.
//  2. No more is held than one item, the unsent bytes (256 KiB), and in protobuf up to 2 MiB of encoded items: there
//     the length of a list precedes it. A longer list is iterated twice, first to measure it.
//  3. A list that fails returns an error, and so does one whose items changed while it was written. Neither is ended as
//     if it were whole.
package listing
