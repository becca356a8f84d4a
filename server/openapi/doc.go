// Package openapi describes the installed resources in OpenAPI v3 and v2.
//
// It serves /openapi/v3 (an index, and a document for each group version), /openapi/v2 (one document of everything) and
// owns the definitions of the built-in types.
//
// In come a [Resource] for every path of a built-in group version ([Service.InstallGroupVersion]), or a [Part] of a
// group version that is made at run time ([Service.UpdatePart]), such as a CustomResourceDefinition, which a [Section]
// helps to describe. Out go documents in JSON or protobuf with an ETag, from which kubectl explains fields, validates,
// and merges applied manifests; and [Definitions], from which server-side apply knows which list is a map.
//
// # Documents are made of parts
//
//	part      → fragment: its paths and its own definitions, encoded and compressed, once, when first asked for
//	document  = head, then the fragments of its parts, then the built-in definitions that they name
//
// A document is written to its client from the fragments and is not kept. Neither are the trees from which fragments
// are made. So after a change only the changed part is encoded again, for the document of its group version and for v2.
//
// The binary contains built-in definitions in the form of OpenAPI v3, which is copied into documents. They are parsed
// only where their fields are needed.
//
// Invariants:
//
//  1. Nothing is parsed or built before the first request for it. The index of v3 builds no part that has a Hash, as
//     all built-in ones have.
//  2. A part is encoded once for every change of it. A document's hash changes only with its parts.
//  3. A part that can't be described is omitted. The others are not affected.
//  4. Built-in parts are never replaced at run time.
//
// The definitions are generated from the Go types by internal/gen, and embedded. Run go generate when a Kubernetes
// library changes, or when the table of built-in resources gains a group or a version; a test fails until then. Then,
// as after every change of the documents' content: go test ./server -run TestDocumentsHash -rewrite.
package openapi

//go:generate go run ./internal/gen -out definitions.txt
