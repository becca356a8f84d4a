// Package bootstrap authenticates machines that join a cluster, by bootstrap tokens.
//
// In comes a token, ID.SECRET. Out goes the user system:bootstrap:ID, or a doubt that names the Secret and the reason.
//
// A token is valid if the Secret kube-system/bootstrap-token-ID
//
//   - exists, is not being deleted, and has the type bootstrap.kubernetes.io/token;
//   - has the same token-id and token-secret;
//   - has no expiration, or one in the future;
//   - has usage-bootstrap-authentication: "true";
//   - has no auth-extra-groups except names that begin with system:bootstrappers:.
//
// Invariants: the Secret is read for each request. Neither a doubt nor an error contains token-secret. A token of
// another form causes no doubt: it is for another authenticator.
package bootstrap
