// Package picture draws the contents of a terminal as SVG.
//
// It takes lines whose only escape codes are those of colours (SGR), and the look of each code. It returns SVG
// without scripts, in which each piece of text begins at its own cell, so that columns hold with any font. All text
// is escaped.
package picture
