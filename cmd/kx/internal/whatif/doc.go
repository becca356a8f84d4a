// Package whatif predicts what a CustomResourceDefinition would do to stored objects, without installing it.
//
// It takes a definition and a source of keys and values: a running etcd or an etcd's file. It returns the errors of
// the definition, also as an update of the installed one. For each object and served version it returns the fields
// that the object would lose, the defaults that it would get, and its validation errors. The rules are the server's
// own functions.
//
// Invariants:
//
//  1. Nothing is written. Only the definition's conversion webhook is called, if it has one.
//  2. A webhook that fails [mostFailures] times in a row is not called again. The remaining objects are counted.
//  3. Only one object is in memory at a time.
package whatif
