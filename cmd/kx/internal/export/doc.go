// Package export writes journeys as one document to share: Markdown for an issue, a drawing in SVG, or an HTML page.
//
// A [Document] holds journeys, and a function that returns the source of the code that made them. The package writes
// it to an io.Writer. Commands open the files.
//
// # Invariants
//
//  1. Every text of a journey is escaped for its place: Markdown, a Mermaid diagram, a fence, XML, HTML. Characters
//     that act on a terminal or reorder a line are escaped too, in the form of core/escape.
//  2. A document loads nothing and runs nothing: no scripts, images or fonts. The picture of a page walks by radio
//     buttons and style sheets.
//  3. A document has at most [most] bytes. To keep the limit it leaves out the code first, then the changes of
//     objects, then whole journeys, and states what is missing.
//  4. An HTML page contains the capture of its journeys, in a form that core/capture reads.
//  5. The same Document results in the same bytes.
//  6. Two journeys are drawn beside each other only if both have ended and neither is a watch. All forms say where they
//     part in the same sentence, that of tui/diff.
//
// Secrets are masked before a journey is recorded, so a document contains none.
package export
