// Package render writes the results of commands: lists as tables, JSON or YAML, differences of objects, findings,
// progress. Package render/journey writes journeys.
//
// Lists are written row by row, so that the memory does not grow with a list. Commands parse flags and send requests.
// This package writes everything that users see of the answers.
//
// Invariants:
//
//  1. Control characters never reach a terminal: names in the output are chosen by other users.
//  2. A table without rows has no titles. Numbers are aligned right.
//  3. JSON and YAML contain the whole result. A table contains what fits into a line.
package render
