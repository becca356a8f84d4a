// Package capturetest makes captures that nobody should trust, for tests of what reads one.
//
// What comes in is a recipe: bytes, such as a fuzzer chooses. What goes out is a capture in which the recipe changed
// numbers, texts, lists and nesting. The same recipe makes the same capture.
package capturetest
