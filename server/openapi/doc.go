// Package openapi describes what the server has installed, in OpenAPI v3 and v2.
//
// It owns /openapi/v3 (an index, and a document per group version), /openapi/v2 (one document of everything) and the
// definitions of the built-in types.
//
// What comes in: a [Resource] for every path of a built-in group version ([Service.InstallGroupVersion]), or ready
// specifications of a group version that is made at run time ([Service.UpdateGroupVersion]). What goes out: JSON or
// protobuf with an ETag; kubectl reads them to explain a field, to validate and to merge an applied manifest. And
// [Definitions], by which server-side apply knows which list is a map.
//
// Invariants:
//
//  1. Nothing is parsed or built until somebody asks: a server that nobody asks pays for none of it.
//  2. A document is built once for every change of its group version, whoever asks first; its hash changes only with
//     its content.
//  3. A group version whose specification can't be built has an empty document; the others are not affected.
//
// Definitions are made from the Go types by internal/gen and embedded. Run go generate when a Kubernetes library or the
// list of packages in internal/gen changes; a test notices when that was forgotten.
package openapi

//go:generate go run ./internal/gen -out definitions.json.gz
