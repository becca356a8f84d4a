// Package render writes the results of commands: lists as tables, JSON or YAML, values of keys, differences of
// objects, findings, verdicts, progress. Package render/journey writes journeys.
//
// Commands parse flags and send requests. This package writes everything that users see of the answers. A list is
// written row by row, so that the memory does not grow with it. A table holds its first rows back, to measure the
// columns.
//
// Invariants:
//
//  1. Control characters of names and objects never reach a terminal, since other users chose them. The exception is
//     [Raw], which writes the bytes in etcd.
//  2. A table without rows has no titles. Numbers are aligned right.
//  3. JSON and YAML contain the whole result. A table contains what fits into a line.
package render
