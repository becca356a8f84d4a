// Package journey writes journeys as text: as a tree of steps, as one line, with the changes of objects, side by
// side, or as the changes of one field.
//
// Control characters in values of a journey are escaped, so that they can't act on a terminal.
package journey
