// Package whatif tells what a CustomResourceDefinition would make of the objects that are stored, without installing it.
//
// In come a definition, and a source of keys and values: an etcd that runs, or a file of one. Out goes what is wrong with
// the definition, by itself and as an update of the one that is installed, and for each object what it would lose, which
// defaults it would get, and what it would be refused for, in each version that clients could have. The rules are those
// of the server: this package calls them, and has none of its own.
//
// Invariants:
//
//  1. Nothing is written, and nothing is asked but the definition's conversion webhook, if it has one.
//  2. A webhook that fails [mostFailures] times in a row is not asked again, and what was left out is counted.
//  3. Objects are looked at one by one: however many there are, one is in memory.
package whatif
