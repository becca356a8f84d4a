// Package schema knows what objects look like, from a server's OpenAPI v3: it writes templates of them, and says what is
// wrong with one that somebody types.
//
// What comes in is the document of a group and version ([Read]), as /openapi/v3 has it. What goes out are texts
// ([Document.Template]) and [Problem]s with line and column ([Document.Check]).
//
// # Invariants
//
//  1. A template has every required field, and nothing that its own Check finds wrong.
//  2. Check never stops anybody: the server is the judge, and knows rules that no schema says.
//  3. Any text and any document may come in: schemas may refer to themselves, texts may be anything.
package schema
