// Package picture draws what a terminal shows as SVG.
//
// What comes in are lines with the escape codes of colours (SGR) and no others, and what each code looks like. What goes out is
// SVG without scripts, in which each piece of text begins at its own cell, so that columns hold with any font. All text is
// escaped.
package picture
