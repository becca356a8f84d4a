// Package traceview writes journeys for a terminal or a pipe: as a tree of steps, as one line, with the objects that
// steps changed, and the way of one field through them.
//
// What comes in are journeys, from a server or a file; what goes out is text. Nothing that a journey says can do more to
// a terminal than be read.
package traceview
