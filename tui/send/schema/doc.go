// Package schema reads a server's OpenAPI v3: it writes templates of objects, and finds the problems of a body that
// the user types.
//
// It takes the document of a group and version from /openapi/v3 ([Read]). It returns texts ([Document.Template]) and
// [Problem]s with line and column ([Document.Check]).
//
// # Invariants
//
//  1. A template has every required field, and passes its own Check.
//  2. Check never prevents a request: the server decides, and has rules that no schema states.
//  3. Any text and any document is safe as input, including schemas that refer to themselves.
package schema
