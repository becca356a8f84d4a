// Package linear is the screen for screen readers, and for use without a terminal. It only appends lines, without
// colours, and takes commands by name.
//
// It writes a line for each request of a session when the request ends or is held. On command it writes a request's
// story, sentence by sentence, its steps, its code, or its changes.
//
// # Invariants
//
//  1. Written lines never change. No escape codes are written.
//  2. While the user reads a request, no lines about other requests interrupt. The next command reports their number.
package linear
