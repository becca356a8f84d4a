// Package manifest reads the objects that configure admission from files, of which the API knows nothing.
//
// In come the files of a directory; out go webhook configurations, or policies with their bindings, in the order of their names. The
// rules are those of a Kubernetes API server: each plugin has a directory of its own, with objects of its kinds in
// admissionregistration.k8s.io/v1, whose names end in ".static.k8s.io".
//
// Invariants:
//
//  1. What comes out is valid, with its defaults, as if the API had accepted it.
//  2. Nothing in it depends on the API: webhooks have URLs, policies have no params, bindings are of policies of the same directory.
//  3. One mistake, and nothing comes out. The error names the file and the field.
package manifest
