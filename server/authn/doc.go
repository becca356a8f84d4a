// Package authn makes the server's authenticator of the library's parts: client certificates, bearer tokens from a
// file (in a header or in a WebSocket's protocol), and anonymous requests to a few paths.
//
// What comes in is a request; what goes out is a user, nobody, or an error. Credentials that are wrong are an error
// even where nobody would do: a mistake should be seen.
package authn
