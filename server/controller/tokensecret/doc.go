// Package tokensecret fills the Secrets that ask for a token of a service account, and deletes those whose account is gone. It is
// kube-controller-manager's serviceaccount-token-controller.
//
// It owns the type kubernetes.io/service-account-token: the token, the authority and the namespace in such a Secret, and the
// annotation with the UID of its account. In come Secrets and service accounts, from the feed, and the authority, which may be
// renewed while the server runs. Out go updates and deletions of Secrets. A Secret that was deleted also leaves the list of secrets
// of its account.
//
// Package serviceaccount makes the tokens. They have no end, so who holds such a Secret is its account until the Secret is deleted.
//
// # Invariants
//
//  1. A Secret is filled or deleted as it is read at that moment, together with its account. One that changed meanwhile is looked
//     at again. It is never deleted because its account can't be read.
//  2. What is there already stays: a token is made where there is none, and never replaced.
//  3. What is as it should be costs nothing at a start: only Secrets that lack something, or their account, are read.
//  4. In memory there are the names of these Secrets and of their accounts. A token is in no log and in no journey.
package tokensecret
