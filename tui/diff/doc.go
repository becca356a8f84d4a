// Package diff compares two objects field by field ([Objects]), and two requests step by step ([Steps]).
//
// [Objects] takes JSON, and returns marked lines, indented as YAML is, and the number of changed fields. Lists are
// compared item by item between their common beginnings and ends. It is pure, and bounded in what it writes.
package diff
