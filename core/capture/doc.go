// Package capture is journeys to and from a stream: what kx trace saves and shows again.
//
// A capture is lines of JSON. The first says what follows and in which version; each other one is a journey. What comes in
// are journeys and an io.Writer, or an io.Reader; files are other people's business. Secrets are masked before a journey
// is recorded, so a capture has none.
//
// # Invariants
//
//  1. What was written is read back the same.
//  2. A reader takes at most [LineMost] bytes of memory for a line, whatever the stream says, and never panics.
//  3. A reader says in which line something is wrong. What came before it is good.
//  4. A capture that a later version wrote is refused, not half understood.
package capture
