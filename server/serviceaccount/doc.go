// Package serviceaccount creates the tokens of service accounts. They are JSON Web Tokens with an account,
// audiences, an expiry, and the object that they are bound to.
//
// It owns the keys ([Keys]), the claims ([Claims]), the signature ([Signer]), and the documents for verifying a
// signature ([Discovery]). In come keys and objects of the API. Out go tokens, and the public keys. Package
// identity reads and keeps the files of the keys.
//
// There are two kinds of token. [BoundClaims] are those of the subresource serviceaccounts/token: they expire,
// and they may be bound to a pod, a secret or a node. [LegacyClaims] are those of a Secret of the type
// kubernetes.io/service-account-token: they do not expire, and their issuer is [LegacyIssuer].
//
// Invariants: A key's ID is a hash of its public half, the same as in a kube-apiserver, so that servers that
// share a key use the same ID. A Signer's key is always among the published keys. Nothing here reads a token:
// package server/authn/bearer does. No token is logged or appears in a journey.
package serviceaccount
