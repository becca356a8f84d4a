// Package layout says where things go on a screen of a given size. It is pure: sizes in, rectangles out.
//
// # Invariants
//
//  1. The rectangles of a [Screen] do not overlap, lie within it, and together cover it.
//  2. Header and hints are there at every size that is not too small.
package layout
