// Package kubectl runs kubectl on kx, as a program that a user starts.
//
// TestSameBytes holds kx get against kubectl get: both are on one kx, and what they write and end with has to be the same, byte by
// byte, in every output format. TestVerbs holds what kubectl's commands say on kx against what they say on a kube-apiserver. Plugins
// that change objects are off on both.
//
// It is a module of its own, so that kx does not depend on all that kubectl does. The kubectl is the command that
// Kubernetes makes its releases of, in the version of the libraries in go.mod.
package kubectl
