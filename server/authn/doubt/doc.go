// Package doubt explains why an authenticator does not know a credential, where the client gets no explanation.
//
// A Kubernetes API server has three results for a token: valid, broken, or unknown. It gives no reason for the last
// one. Here it does: an authenticator returns a [Doubt] as its error. Package authn adds doubts to the step of the
// journey and to the log. The client gets the text of a kube-apiserver.
//
// Invariants: a doubt never contains a part of a token that must stay secret.
package doubt
