// Package handler answers requests for one resource: a file a verb.
//
// It owns the way from an HTTP request to a call of core/rest and back: negotiation of media types, options, decoding and
// defaulting the body, conversion between the version of the request and the one in which the resource is stored (the
// hub), managed fields and server-side apply, admission, tables and partial objects, and the response.
//
// What comes in: a request whose context holds a RequestInfo and a user (the filters put them there), and a
// [RequestScope], which says what the handlers need to know of the resource. What goes out: exactly one response, either
// an object in the request's version or a metav1.Status.
//
// # Invariants
//
//  1. A request stays on the goroutine that it came in on. Its deadline is in its context, set by a filter.
//  2. Objects reach core/rest in the hub version, with defaults, and without apiVersion and kind if they have Go types.
//  3. A response is converted once, a list as a whole, and not at all if the request's version is the hub.
//  4. What rest returns is this request's own as far as its apiVersion and kind go: encoding writes them into it.
//  5. Nothing here knows the types of objects: all is asked of the scope.
//  6. Owners of fields are noted before admission, which owns nothing, and each time that storage asks for the next state.
//  7. A function that returns a handler is not inlined: its closure would carry the name of whoever it was inlined into, and
//     a journey shows these names to people who look for the ones that they have read about.
package handler
