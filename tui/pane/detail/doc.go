// Package detail is the pane of what is known of one step and its request, in tabs: the step itself, what changed in the
// object and which step did it, the source that ran, the object, what etcd was asked, where the time went, whom the event
// reached, and the request.
//
// It owns which tab is open, how far it is scrolled, and a cursor among the lines that lead somewhere: to a step, to a
// source line, to another screen. Lines are made once for each step and width, not for each frame. What changed has a mark
// in the text: + added, - removed. Where the pane is wide enough, Diff and Source are side by side.
//
// The pane does no I/O: files of the source and the watches of a cache are given to it, if it says that it wants them.
package detail
