// Package doubt says why an authenticator does not know a credential, where its client is not told.
//
// A Kubernetes API server has three answers to a token: it is somebody's, it is broken, or nobody knows it. The last one has no words. Here
// it has: an authenticator returns a [Doubt] as its error. Package authn gives doubts to the step of the journey and to the log, and
// leaves the client with the words that a kube-apiserver has.
//
// Invariants: a doubt never holds a part of a token that must stay secret.
package doubt
