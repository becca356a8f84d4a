// Package sample has a sample object for each kind whose schema does not say what goes together, such as a selector and
// labels.
//
// builtin.yaml is made from the table of built-in resources: a resource declares its own sample. beside.yaml is written by
// hand, for kinds that other servers of the process serve. In comes a kind; out goes what people usually put into an
// object of it.
package sample
