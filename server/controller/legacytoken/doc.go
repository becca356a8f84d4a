// Package legacytoken retires the tokens of service accounts that Secrets hold and that nobody uses.
//
// [Marker] labels a Secret with the day on which its token was used last: authentication calls it. [Tracking] keeps the config map
// that says since when that is so. Both are a Kubernetes API server's. [Cleaner] is kube-controller-manager's
// legacy-serviceaccount-token-cleaner-controller: in come the Secrets, from the feed. Out go the label
// kubernetes.io/legacy-token-invalid-since, from which day on authentication refuses the token, and later the deletion of the Secret.
//
// Tokens are retired that were made for an account, which lists their Secret, as Kubernetes did before 1.24. One that somebody
// asked for stays. So does one whose Secret a pod names.
//
// # Invariants
//
//  1. Days are those of UTC. A label that is no day says nothing: the token is not retired by it.
//  2. A Secret is labelled and deleted as it was judged. One that changes meanwhile is judged again.
//  3. A token that authenticates stays valid where its use cannot be written down: that is logged, and tried again at the next use.
//  4. Nothing looks regularly at a Secret before its day comes. From then on one that stays is looked at once a day.
package legacytoken
