// Package serviceaccount makes the tokens of service accounts: JSON Web Tokens that say which account is meant, for
// whom the token is, until when, and which object it ends with.
//
// It owns the keys ([Keys]), what a token says ([Claims]), its signature ([Signer]), and the documents by which anybody
// can check a signature ([Discovery]). In come keys and objects of the API. Out go tokens, and the public keys. Package
// identity reads and keeps the files of the keys.
//
// There are two kinds of token. [BoundClaims] are those of the subresource serviceaccounts/token: they end, and they
// may be bound to a pod, a secret or a node. [LegacyClaims] are those of a Secret of the type
// kubernetes.io/service-account-token: they have no end, and their issuer is [LegacyIssuer].
//
// Invariants: A key's ID is a hash of its public half, the same as with a kube-apiserver, so that servers that share a
// key name it alike. A Signer's key is always among the keys that are published. Nothing here reads a token: package
// server/authn/account does. No token is logged or gets into a journey.
package serviceaccount
