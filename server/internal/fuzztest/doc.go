// Package fuzztest turns bytes into sequences of requests to an API server, for tests.
//
// In come bytes of a fuzzer and a [Surface]: the resources and schemas that the server under test publishes. Out go
// requests by a grammar: paths, methods, queries, headers, and bodies grown from the schemas, valid or not. The same
// bytes and the same answers give the same requests. Each choice takes a byte, so a mutated byte changes one choice.
// When no bytes are left, each choice is the first of its table: the plainest.
//
// A choice is a production of the grammar and has a name. [Productions] lists all of them, [Generator.Taken] those of
// one sequence, so that a test can tell whether a corpus of seeds covers the grammar.
package fuzztest
