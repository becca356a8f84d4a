// Package render writes the results of commands: lists as tables, JSON or YAML, differences of objects, findings,
// progress. Its room journey writes journeys.
//
// What comes in are results, row by row if there may be many. What goes out is text, written at once, so that the
// memory does not grow with a list. Commands parse flags and ask servers. This package writes everything that users see
// of the answers.
//
// Invariants:
//
//  1. Control characters never reach a terminal: other users choose the names that are shown.
//  2. A table without rows has no titles. Numbers are aligned right.
//  3. JSON and YAML have the whole result. A table has what fits into a line.
package render
