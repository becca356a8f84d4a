// Package sample has sample objects of the kinds whose schema alone would not give a valid object: it can't say that a
// selector must match labels.
//
// builtin.yaml is generated from the table of built-in resources: a resource declares its own sample. beside.yaml is
// written by hand, for kinds that other servers of the process serve. What comes in is a kind. What goes out is the
// body of a usual object.
package sample
