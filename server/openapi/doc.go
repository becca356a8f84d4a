// Package openapi describes what the server has installed, in OpenAPI v3 and v2.
//
// It owns /openapi/v3 (an index, and a document per group version), /openapi/v2 (one document of everything) and the
// definitions of the built-in types.
//
// What comes in: a [Resource] for every path of a built-in group version ([Service.InstallGroupVersion]), or a [Part] of
// a group version that is made at run time ([Service.UpdatePart]), such as a CustomResourceDefinition, which a [Section]
// helps to describe. What goes out: JSON or protobuf with an ETag; kubectl reads them to explain a field, to validate and
// to merge an applied manifest. And [Definitions], by which server-side apply knows which list is a map.
//
// # Documents are made of parts
//
//	part      → fragment: its paths and its own definitions, encoded and compressed, once, when first asked for
//	document  = head, then the fragments of its parts, then the built-in definitions that they name
//
// A document is written to its client from the fragments and is not kept; nor are the trees that fragments are made from.
// So a change of one part costs what that part costs, in the document of its group version and in that of v2.
//
// A built-in definition lies in the binary as OpenAPI v3 has it, and goes from there into documents as it is. Only who looks
// into one has it parsed.
//
// Invariants:
//
//  1. Nothing is parsed or built until somebody asks: a server that nobody asks pays for none of it. The index of v3
//     builds no part that says itself what it is made of, as all do that are built in.
//  2. A part is encoded once for every change of it, whoever asks first; a document's hash changes only with its parts.
//  3. A part that can't be described is left out; the others are not affected.
//  4. What is installed is not replaced by what comes at run time.
//
// Definitions are made from the Go types by internal/gen and embedded. Run go generate when a Kubernetes library or the
// list of packages in internal/gen changes; a test notices when that was forgotten. Then, as after every change of what
// documents say: go test ./server -run TestDocumentsHash -rewrite.
package openapi

//go:generate go run ./internal/gen -out definitions.txt
