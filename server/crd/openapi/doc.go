// Package openapi describes custom resources in OpenAPI v3 and v2.
//
// It owns the part that a version of a definition has in the documents of server/openapi: its paths, its kind
// and its list kind. In come definitions from server/crd/lister. Out go [V3] and [V2], which [Publish] adds to
// the documents of their group versions, and [NewTypeConverter], which tells server-side apply which lists are
// maps.
//
// v2 can express less than a schema. It has no anyOf, oneOf, not, and no null, and its readers refuse unlisted
// properties. So an object that may have further properties is described as any value.
//
// # Invariants
//
//  1. A version is published while it is served and its definition is established. A change of a definition is
//     recorded when the lister reports it; the description is built when a document is requested.
//  2. A version of a definition is described once for each of its generations.
//  3. A schema that is not structural is not described: its kind is an object with unknown fields.
package openapi
