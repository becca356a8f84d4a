// Package namespace is the resource namespaces, with its subresources status and finalize.
//
// A namespace does not go when it is deleted. The first DELETE gives it a deletionTimestamp and the phase Terminating;
// it stays until spec.finalizers is empty, so that a controller can first delete what lives in it. That controller takes
// its finalizer away by PUT to finalize, and the update that leaves spec.finalizers and metadata.finalizers empty removes
// the namespace.
//
// Invariants: a namespace has a phase, Terminating if and only if it has a deletionTimestamp; its label
// kubernetes.io/metadata.name is its name; spec.finalizers changes through finalize alone.
package namespace
