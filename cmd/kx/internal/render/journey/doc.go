// Package journey writes journeys as text: as a tree of steps, as one line, with the objects that steps changed, side by
// side, and the way of one field through the steps.
//
// Journeys come from a server or a file; text goes out. Every value of a journey is cleaned of control characters, so it
// can do nothing to a terminal but be read.
package journey
