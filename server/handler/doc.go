// Package handler answers requests for one resource. Each verb has its file.
//
// It leads from an HTTP request to a call of core/rest and back: negotiation of media types, options, decoding and
// defaulting of the body, conversion between the request's version and the one in which the resource is stored (the
// hub), managed fields and server-side apply, admission, tables and partial objects, and the response.
//
// What comes in: a request whose context holds a RequestInfo and a user, set by the filters, and a [RequestScope],
// which describes the resource. What goes out: exactly one response, either an object in the request's version or a
// metav1.Status.
//
// # Invariants
//
//  1. A request stays on the goroutine that it came in on. Its deadline is in its context, set by a filter.
//  2. Objects reach core/rest in the hub version, with defaults, and without apiVersion and kind if they have Go types.
//  3. A response is converted once, a list as a whole, and not at all if the request's version is the hub.
//  4. A request owns at least the apiVersion and kind of an object that rest returns, because encoding writes them into
//     it.
//  5. Nothing here knows the types of objects. The scope holds all knowledge of them.
//  6. Owners of fields are recorded before admission, which owns nothing, and each time that storage asks for the next
//     state.
//  7. A function that returns a handler is not inlined. Otherwise its closure would carry the name of the function that
//     it was inlined into, and a journey shows these names to readers who know the original ones.
package handler
