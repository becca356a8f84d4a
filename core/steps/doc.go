// Package steps is the table of the steps that a request can take.
//
// What comes in is an [ID], or a name: that of a step, or a word of an article about the Kubernetes API server. What
// goes out is the step's [Info]: its layer, what it does, the function with the same task upstream, and what can be
// done to it. Package trace records steps, and package sites finds the code that takes them.
//
// # Invariants
//
//  1. Nothing here changes while a program runs, and nothing is imported but Go's library.
//  2. Each ID has a row, each row a name of its own, and each name from an article leads to a step or to a [Stepless].
package steps
