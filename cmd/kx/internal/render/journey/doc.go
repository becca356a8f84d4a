// Package journey writes journeys as text: as a tree of steps, as one line, with the objects that steps changed, side
// by side, and the way of one field through the steps.
//
// What comes in are journeys of a server or a file. What goes out is text. Control characters in values of a journey
// are escaped, so that they can't act on a terminal.
package journey
