// Package diff compares two objects field by field ([Objects]), two requests step by step ([Steps]), and two walks
// through the layers up to where they part ([Fork]), with the reasons of both ([Reasons]).
//
// [Objects] takes JSON, and returns marked lines, indented as YAML is, and the number of changed fields. Lists are
// compared item by item between their common beginnings and ends. It is pure, and bounded in what it writes.
package diff
