// Package export writes journeys as one document that others can open: Markdown for an issue, a drawing in SVG, and an
// HTML page.
//
// What comes in is a [Document]: journeys, and a function that returns the source of the code that made them. What goes
// out is bytes, to an io.Writer. Commands open the files.
//
// # Invariants
//
//  1. Every text of a journey is escaped for where it stands: Markdown, a Mermaid diagram, a fence, XML, HTML. What
//     acts on a terminal or reorders a line has escapes too, as core/escape writes them.
//  2. A document loads nothing and runs nothing: no scripts, images or fonts.
//  3. A document has at most [Most] bytes. It says what was left out for that: the code first, then the changes of the
//     objects, then whole journeys.
//  4. An HTML page has the capture of the journeys that it shows, as core/capture reads it.
//  5. The same Document gives the same bytes.
//
// Secrets are masked before a journey is recorded, so a document has none.
package export
