// Package yaml writes JSON documents as YAML.
//
// What comes in: a JSON document, as an encoder writes it. What goes out: the same bytes that sigs.k8s.io/yaml would
// write, and that clients of Kubernetes get. That library builds a tree of Go values first, and takes ten times as
// long.
//
// Invariants:
//
//  1. The bytes are those of the library. Rare documents are left to it: one with a surrogate in a string, for
//     example, or with a field twice.
//  2. Beside the YAML it holds no more than 16 bytes a value.
package yaml
