// Package markdown lays out Markdown in lines of a given width: headings, paragraphs, lists, quotes, tables, and
// verbatim code.
//
// It takes the text of a lesson's file, which is untrusted. It returns lines that fit, possibly with colours.
//
// # Invariants
//
//  1. No line is wider than the width, and none can control the terminal.
//  2. The text is the same with and without colours: code keeps its backticks.
package markdown
