// Package responsewriters writes objects and errors as HTTP responses.
//
// What comes in: an object in the version that the client asked for, or an error of any kind. What goes out: a response in
// the negotiated media type, compressed if it is large and the client can read that; an error always as a metav1.Status.
//
// Invariants:
//
//  1. Every error has a Status: [ErrorToAPIStatus] is the one table from errors to HTTP codes.
//  2. Half an answer never looks like a whole one: what fails after it has begun cuts the connection, or resets the stream.
//  3. Bodies are streamed from the serializer to the socket: nothing is encoded twice, nor held whole by this package.
package responsewriters
