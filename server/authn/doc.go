// Package authn builds the server's authenticator, mostly from the library's parts: headers of a proxy in front of the
// server, client certificates, bearer tokens (in a header or in a WebSocket's protocol), and requests without any of these, which are
// those of system:anonymous.
//
// Bearer tokens are those of a file, of service accounts, of Secrets for machines that join, of other issuers, and those that a webhook
// knows. They are asked in this order, which is a kube-apiserver's: what needs no network comes first.
//
// In comes a request. Out goes a user and by what it is known ([Known]), no user, or an error. A wrong token is an error even on
// open paths, so that the mistake is noticed. If authenticators have doubts, the error is [Unknown].
//
// What a token or a certificate proved is remembered: a token for 10 seconds, a certificate for a minute of its connection, the answer of
// a webhook as long as its flag says. Whoever is refused is asked anew each time, but by the webhook. Whoever sends headers like the
// proxy's, nobody behind the authenticator sees them.
package authn
