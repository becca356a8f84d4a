package kxtest

// Binary returns the path of the binary that Start runs.
var Binary = binary
