// Package account authenticates service accounts by their tokens.
//
// In comes a token. Out goes the user system:serviceaccount:NAMESPACE:NAME, no opinion of a token from another issuer,
// or the reason why a token of this cluster is not valid. Package server/serviceaccount issues the tokens and documents
// their claims.
//
// A token is valid if all of this holds:
//
//   - its issuer is one of this cluster's, and one of the keys verifies its signature;
//   - its audiences include one that the request asks for, or else this API;
//   - its time has begun and not ended, give or take a minute for clocks that differ;
//   - the account that it names exists, with the same UID;
//   - so does the pod, the secret or the node that it is bound to;
//   - if it is a secret's token, the secret still holds it and is not marked as invalid.
//
// Invariants: No claim counts before the signature is verified. An object that has been terminating for longer than a
// minute counts as gone. Objects are read from the storages for each request; nothing is cached here. Errors name
// objects and claims, never a token.
package account
