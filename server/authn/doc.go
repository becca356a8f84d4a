// Package authn builds the server's authenticator, mostly from the library's parts: headers of a proxy in front of the
// server, client certificates, bearer tokens from a file and of service accounts (in a header or in a WebSocket's protocol), and
// anonymous requests to a few paths.
//
// In comes a request. Out goes a user and by what it is known ([Known]), no user, or an error. Wrong credentials are an error even on
// open paths, so that the mistake is noticed.
//
// What a token or a certificate proved is remembered: a token for 10 seconds, a certificate for a minute of its connection. Whoever is
// refused is asked anew each time. Whoever sends headers like the proxy's, nobody behind the authenticator sees them.
package authn
