// Package bearer authenticates the bearer tokens that depend on objects of the API: those of service accounts and those
// of machines that join the cluster.
//
// In come a token and, from a [Reader], the objects that it depends on: service accounts, pods, secrets and nodes. Out
// goes a user; no opinion of a token that is for another authenticator; or the reason why it is not valid. Package
// server/serviceaccount issues the tokens of accounts and documents their claims.
//
// # Service accounts
//
// A token of an account gives the user system:serviceaccount:NAMESPACE:NAME. It is valid if all of this holds:
//
//   - its issuer is one of this cluster's, and one of the keys verifies its signature;
//   - its audiences include one that the request asks for, or else this API;
//   - its time has begun and not ended, give or take a minute for clocks that differ;
//   - the account that it names exists, with the same UID;
//   - so does the pod, the secret or the node that it is bound to;
//   - if it is a secret's token, the secret still holds it and is not marked as invalid.
//
// No claim counts before the signature is verified. An object that has been terminating for longer than a minute counts
// as gone. Errors name objects and claims, never a token.
//
// # Bootstrap tokens
//
// A token ID.SECRET gives the user system:bootstrap:ID. It is valid if the Secret kube-system/bootstrap-token-ID
//
//   - exists, is not being deleted, and has the type bootstrap.kubernetes.io/token;
//   - has the same token-id and token-secret;
//   - has no expiration, or one in the future;
//   - has usage-bootstrap-authentication: "true";
//   - has no auth-extra-groups except names that begin with system:bootstrappers:.
//
// # Invariants
//
//  1. Objects are read from the storages for each request; nothing is cached. Until the storages are set, no object is
//     found.
//  2. Neither a [Rejection] nor an error contains a part of a token that must stay secret.
package bearer
