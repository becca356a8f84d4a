// Package theme defines the colours of the screen: a handful of styles by meaning, for light terminals and dark ones.
//
// It takes a theme's name and the terminal's colours, and returns styles. Colour is never the only carrier of a
// meaning: every style accompanies a mark in the text. So the screen reads the same with NO_COLOR, where all styles
// do nothing.
package theme
