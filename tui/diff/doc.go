// Package diff compares two objects field by field, and writes the result as lines that are indented as YAML is.
//
// It takes JSON, and returns marked lines and the number of changed fields. Lists are compared item by item between
// their common beginnings and ends. It is pure, and bounded in what it writes.
package diff
