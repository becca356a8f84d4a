// Package openapi describes custom resources in OpenAPI v3 and v2, as their CustomResourceDefinitions define them.
//
// It owns what a version of a definition looks like in the documents of server/openapi: its paths, its kind and its list
// kind. In come definitions, from server/crd/lister. Out go [V3] and [V2], the parts that [Publisher] adds to the
// documents of their group versions, and [NewTypeConverter], by which server-side apply knows which list is a map.
//
// v2 can't say all that a schema says. It has no anyOf, oneOf and not, no null, and its readers take what has properties
// for something that has no others: so what a schema allows beyond its properties is said to be anything.
//
// # Invariants
//
//  1. A version is published while it is served and its definition is established. That a definition has changed is noted
//     when the lister tells of it, before the next one; nothing is built until somebody asks.
//  2. A version of a definition is described once for each of its generations, whoever asks first, whatever becomes of
//     others.
//  3. A schema that is not structural is not described: the kind is an object of which nothing is known.
package openapi
