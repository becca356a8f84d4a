// Package lines says in which line of a file something is that is wrong with it.
//
// In come a YAML document (JSON is one too) and errors about it, of decoders and of validation. Out goes one sentence
// with all of them, each with the line of the field that it names.
//
// Invariants:
//
//  1. A missing field has the line of the object that lacks it.
//  2. Nothing of the document gets into an error that was not in it: documents may have keys in them.
//  3. A document that is no YAML has no lines: its decoder names the one.
package lines
