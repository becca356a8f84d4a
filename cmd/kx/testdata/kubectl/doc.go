// Package kubectl holds kx get against kubectl get: both are programs that a user starts, on one kx, and what they write and
// end with has to be the same, byte by byte, in every output format.
//
// It is a module of its own, so that kx does not depend on all that kubectl does. The kubectl is the command that
// Kubernetes makes its releases of, in the version of the libraries in go.mod.
package kubectl
