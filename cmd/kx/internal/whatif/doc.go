// Package whatif predicts what a CustomResourceDefinition would do to stored objects, without installing it.
//
// What comes in are a definition and a source of keys and values: a running etcd or a file of one. What goes out are
// the errors of the definition, also as an update of the installed one, and for each object, in each served version,
// the fields that it would lose, the defaults that it would get, and the errors of its validation. The rules are the
// server's own functions.
//
// Invariants:
//
//  1. Nothing is written. Only the definition's conversion webhook is asked, if it has one.
//  2. A webhook that fails [mostFailures] times in a row is not asked again. The remaining objects are counted.
//  3. One object is in memory at a time.
package whatif
