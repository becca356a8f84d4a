// Package yaml writes JSON documents as YAML.
//
// What comes in: a JSON document, as an encoder writes it. What goes out: the bytes that sigs.k8s.io/yaml makes of it,
// which are what clients of Kubernetes get. That library builds a tree of Go values first, and takes ten times as long.
//
// Invariants:
//
//  1. The bytes are those of the library. What is rare in objects is left to the library: a document with a surrogate
//     in a string, for example, or with a field twice.
//  2. Beside the YAML no more is held than 16 bytes a value.
package yaml
