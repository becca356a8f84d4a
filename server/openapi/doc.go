// Package openapi describes what the server has installed, in OpenAPI v3 and v2.
//
// It owns /openapi/v3 (an index, and a document per group version), /openapi/v2 (one document of everything) and the
// definitions of the built-in types.
//
// In come a [Resource] for every path of a built-in group version ([Service.InstallGroupVersion]), or a [Part] of a group
// version that is made at run time ([Service.UpdatePart]), such as a CustomResourceDefinition, which a [Section] helps to
// describe. Out go documents in JSON or protobuf with an ETag, by which kubectl explains fields, validates, and merges applied
// manifests; and [Definitions], by which server-side apply knows which list is a map.
//
// # Documents are made of parts
//
//	part      → fragment: its paths and its own definitions, encoded and compressed, once, when first asked for
//	document  = head, then the fragments of its parts, then the built-in definitions that they name
//
// A document is written to its client from the fragments and is not kept. Neither are the trees that fragments are made from.
// So a change of a part costs only the encoding of that part, for the document of its group version and for that of v2.
//
// A built-in definition is in the binary in the form of OpenAPI v3, and is copied from there into documents. It is parsed only
// for those who need its fields.
//
// Invariants:
//
//  1. Nothing is parsed or built before the first request for it. The index of v3 builds no part that has a Hash, as all
//     built-in ones have.
//  2. A part is encoded once for every change of it. A document's hash changes only with its parts.
//  3. A part that can't be described is left out. The others are not affected.
//  4. Built-in parts are never replaced at run time.
//
// Definitions are made from the Go types by internal/gen and embedded. Run go generate when a Kubernetes library
// changes, or when the table of built-in resources gains a group or a version; a test fails until then. Then, as after every change of what
// documents say: go test ./server -run TestDocumentsHash -rewrite.
package openapi

//go:generate go run ./internal/gen -out definitions.txt
