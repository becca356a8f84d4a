// Package detail is the pane of what is known of one step and its request, in tabs: the step itself, what it changed in
// the object, and the request.
//
// It owns which tab is open and how far it is scrolled. Lines are made once for each step and width, not for each frame.
// What changed has a mark in the text: + added, - removed.
package detail
