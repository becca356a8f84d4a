// Package request is one request to the API as a person writes it down: a verb, a resource, a name, options, a body; or a
// method and a path. It owns the files that hold such requests, the tables of verbs and options, and the way from either
// form to what goes over the wire and back.
//
// What comes in is text ([Parse]), fields that somebody filled in, or a request that was seen ([From]). What goes out is
// text ([Format]) or an [HTTP]. Whoever sends it has the socket; nothing here does.
//
// # Invariants
//
//  1. What Format writes, Parse reads as the same request.
//  2. Of a request that From made, Build makes the same method, path and query again.
//  3. Build asks discovery ([Resources]) only for what the request leaves open: "v1/pods" needs none, "po" does.
//  4. The server is the judge: Build refuses what has no path, not what the server might refuse.
package request
