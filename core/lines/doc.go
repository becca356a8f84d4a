// Package lines says in which line of a file something is that is wrong with it.
//
// In come a YAML document (JSON is one too) and errors about it, of decoders and of validation. Out go the same errors, each with the
// line of the field that it names, as one sentence.
//
// Invariants:
//
//  1. Of a field that is missing the line is that of what it is missing in.
//  2. Nothing of the document gets into an error that was not in it: documents may have keys in them.
//  3. A document that is no YAML has no lines: its decoder names the one.
package lines
