// Package manifest reads objects that configure admission from files. The API does not show them.
//
// In come the files of a directory. Out go webhook configurations, or policies with their bindings, sorted by
// name. A Kubernetes API server has the same rules: each plugin has its own directory, with objects of its
// kinds in admissionregistration.k8s.io/v1, and their names end in ".static.k8s.io".
//
// Invariants:
//
//  1. The results are valid and have their defaults, as if the API had accepted them.
//  2. Nothing depends on the API: webhooks have URLs, policies have no params, and bindings name policies of
//     the same directory.
//  3. After one mistake, there is no result. The error names the file and the field.
package manifest
