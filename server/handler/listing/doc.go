// Package listing writes lists item by item: lists of objects, of their metadata, and tables.
//
// What comes in: a [Document], which is a list without its items, the items, and what stands in the list for each. What goes
// out: the bytes that the encoder would write of the whole list, in JSON, in JSON for people, in YAML or in protobuf.
//
// Invariants:
//
//  1. The bytes are those of the encoder. A list is its document without items with the items put into their place.
//  2. No more is held than one item, what is not sent yet (256 KiB), and in protobuf up to 2 MiB of encoded items: there the
//     length of a list comes before it. A longer list is gone through twice, once to be measured.
//  3. A list that fails is an error, and so is one whose items changed while it was written; neither is ever ended as if it
//     were whole.
package listing
