// Package api is an HTTP client for a server's API: JSON requests and answers, and watches as a stream of events.
//
// It takes a [rest.Config]. It returns decoded answers, an [Error] with the request and the server's status, or an
// [UnreachableError] if the server is unreachable; the client notices when the server is back. Answers are limited in
// size. Their texts are raw: code that shows them has to clean them.
package api
