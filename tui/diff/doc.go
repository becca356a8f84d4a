// Package diff compares two objects field by field, and writes the result as lines that are indented as YAML is.
//
// What comes in is JSON; what goes out are lines with a mark, and how many fields changed. Lists are compared item by
// item between what is the same at their beginnings and ends. It is pure, and bounded in what it writes.
package diff
