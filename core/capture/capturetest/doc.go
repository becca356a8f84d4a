// Package capturetest makes untrustworthy captures for tests of their readers.
//
// What comes in is a recipe: bytes, such as a fuzzer chooses. What goes out is a capture in which the recipe changed
// numbers, texts, lists and nesting. The same recipe makes the same capture.
package capturetest
