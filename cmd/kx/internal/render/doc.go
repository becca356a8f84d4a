// Package render writes the results of commands: lists as tables, JSON or YAML, differences of objects, findings, progress.
// Its room journey writes journeys.
//
// Results come in, row by row if there may be many; text goes out at once, so a list of any length takes no memory to speak
// of. Commands parse their flags, ask, and leave everything that users see of the answer to this package.
//
// Invariants:
//
//  1. What goes to a terminal has no control characters: users choose the names that it shows.
//  2. A table has no titles if it has no rows. Numbers stand at the right.
//  3. JSON and YAML have the whole result, a table what fits into a line.
package render
