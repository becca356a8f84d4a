// Package authn builds the server's authenticator, mostly from the library's parts. It authenticates by the headers of
// a proxy in front of the server, by client certificates, and by bearer tokens (in a header or in a WebSocket's
// protocol). Requests without any of these belong to system:anonymous.
//
// Bearer tokens come from a file, from service accounts, from Secrets for joining machines, from other issuers, or are
// known to a webhook. They are tried in this order, the same as in a kube-apiserver: tokens that need no network come
// first.
//
// In comes a request. Out goes a user and the way in which it was authenticated ([Identity]), no user, or an error. A
// wrong token is an error even on open paths, so that the mistake is noticed. If authenticators reject the credential,
// the error is [Unknown].
//
// Verified credentials are cached: a token for 10 seconds, a certificate for a minute of its connection, the answer of
// a webhook for the time of its flag. Refusals are not cached, except the webhook's. The headers of a proxy are removed
// from every request before it goes on.
package authn
