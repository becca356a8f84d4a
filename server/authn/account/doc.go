// Package account authenticates service accounts by their tokens.
//
// In comes a token. Out goes the user system:serviceaccount:NAMESPACE:NAME, no opinion of a token that somebody else issued, or the
// reason why a token of this cluster is not valid. Package server/serviceaccount makes the tokens and says what is in them.
//
// A token is valid if all of this holds:
//
//   - its issuer is one of this cluster's, and its signature is of one of the keys;
//   - the request asks for one of its audiences, or else it is for this API;
//   - it has begun and not ended, a minute more or less, for clocks differ;
//   - the account that it names exists, with the same UID;
//   - so does the pod, the secret or the node that it is bound to;
//   - if it is one that a secret holds, the secret still holds it and is not marked as invalid.
//
// Invariants: Nothing that a token says is believed before its signature. An object that is being deleted for longer than a minute
// is gone. What exists is read from the storages, as of now: nothing is remembered here. Errors name objects and claims, never
// a token.
package account
