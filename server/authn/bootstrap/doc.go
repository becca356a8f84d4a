// Package bootstrap authenticates machines that join a cluster, by bootstrap tokens.
//
// In comes a token, ID.SECRET. Out goes the user system:bootstrap:ID, or a doubt that names the Secret and what is wrong with it.
//
// A token is believed if the Secret kube-system/bootstrap-token-ID
//
//   - exists, is not being deleted, and has the type bootstrap.kubernetes.io/token;
//   - has the same token-id and token-secret;
//   - has not expired: its expiration, if there is one, is a time to come;
//   - says usage-bootstrap-authentication: "true";
//   - has no auth-extra-groups but such as begin with system:bootstrappers:.
//
// Invariants: the Secret is read as of now. Neither a doubt nor an error holds token-secret. A token of another form is nobody's
// here, without a doubt: it is for another authenticator.
package bootstrap
