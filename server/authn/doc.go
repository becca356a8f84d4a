// Package authn builds the server's authenticator from the library's parts: client certificates, bearer tokens from a file
// (in a header or in a WebSocket's protocol), and anonymous requests to a few paths.
//
// In comes a request. Out goes a user, no user, or an error. Wrong credentials are an error even on open paths, so that the
// mistake is noticed.
package authn
