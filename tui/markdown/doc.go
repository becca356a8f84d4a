// Package markdown lays text in Markdown out in lines of a width: headings, paragraphs, lists, quotes, tables, and code as it is.
//
// What comes in is what a lesson's file has; it may be anybody's. What goes out are lines that fit and that may be painted.
//
// # Invariants
//
//  1. No line is wider than the width, and no character in it acts on a terminal.
//  2. The text is the same with and without colours: what is code keeps its backticks.
package markdown
