// Package responsewriters writes objects and errors as HTTP responses.
//
// What comes in: an object in the version that the client asked for, or any error. What goes out: a response in the
// negotiated media type, compressed if it is large and the client accepts gzip; an error always as a metav1.Status.
//
// Invariants:
//
//  1. Every error has a Status: [ErrorToAPIStatus] is the one table from errors to HTTP codes.
//  2. A partial response never looks like a whole one: an error after its beginning cuts the connection, or resets the
//     stream.
//  3. Bodies are streamed from the serializer to the socket. This package neither encodes twice nor holds a whole body.
//  4. Compressed parts of lists are kept by their bytes, within a bound: [Pieces]. Clients get the same content
//     with and without it.
package responsewriters
