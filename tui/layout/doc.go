// Package layout places the parts of the program on a terminal of a given size, with the borders that the user moved.
// It is pure: sizes in, rectangles out.
//
// # Invariants
//
//  1. The rectangles of a [Frame], but for a lesson that shares the place of the screen, and of a [Capture], do not
//     overlap, lie within it, and together cover it.
//  2. Header and hints are there at every size that is not too small.
package layout
