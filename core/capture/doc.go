// Package capture writes journeys to a stream and reads them back, for kx trace.
//
// A capture is lines of JSON. The first is a header with the version, each other one is a journey. It may stand within
// an HTML page, which kx trace export writes. The sentence of a reason stands once, in the first journey with that
// reason, in all languages of its server: so a reader without the code that gave the reason can show it.
//
// What comes in are journeys and an io.Writer, or an io.Reader. Callers open the files. Secrets are masked before a
// journey is recorded, so a capture has none.
//
// # Invariants
//
//  1. A Reader returns the journeys that a Writer wrote, unchanged. Objects that are nested more than 128 levels deep
//     are left out, and counted as missing.
//  2. A Reader takes at most [LineMost] bytes of memory for a line, whatever the stream holds, and never panics. The
//     sentences that it keeps for later lines are bounded too.
//     Callers that hold journeys bound them by [Size].
//  3. An error names the line. Journeys before that line are good.
//  4. A journey has as many steps, calls and times as a server can record, so that its readers may follow, index and
//     add them.
//  5. A capture of a later version is refused as a whole.
package capture
