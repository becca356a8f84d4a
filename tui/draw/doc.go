// Package draw makes text that fits: lines of an exact width, blocks of an exact size, boxes, and one block over
// another. [PictureRow] draws a line as SVG.
//
// Its input is untrusted text (names, errors, URIs). Its output can only show characters on the terminal: [Clean]
// replaces the characters that core/escape classifies as hostile.
//
// # Invariants
//
//  1. Fit, Block, Box and Over return what they promise at any size, 0 and negative ones included.
//  2. Widths are cells of the terminal, never bytes or runes.
//  3. Everything is a []string of lines without their ends; only the root of the screen joins them.
package draw
