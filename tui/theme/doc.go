// Package theme is what the screen looks like: a handful of styles by meaning, for light terminals and dark ones.
//
// What comes in is a name and the terminal's colours; what goes out are styles. Nothing on the screen means something by
// its colour alone: every style is used beside a mark in the text, so that with NO_COLOR, where all styles do nothing, the
// same can be read.
package theme
