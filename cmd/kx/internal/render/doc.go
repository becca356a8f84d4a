// Package render writes what commands found: lists as tables, JSON or YAML, differences of objects, and progress.
//
// In come rows one by one; they go out as they come, so a list of any length takes no memory to speak of. What is shown on
// a terminal is cleaned of control characters, since names come from others.
package render
