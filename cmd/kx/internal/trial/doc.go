// Package trial predicts what admission policies would do to stored objects, without installing them.
//
// A [Trial] takes files with policies, bindings and params, and objects from a server. For each object it returns the
// effects of a write: the refusal, failed validations with the actions of their bindings, warnings, audit
// annotations, and the object after mutation. The evaluation is the server's own, in package server/admission/policy.
//
// files.go reads the files. params.go reads the params and namespaces for expressions. objects.go holds the types of
// objects, and trial.go simulates the writes.
//
// # Invariants
//
//  1. Nothing is written. The server is asked only for objects, their types, the client's user, and permissions.
//  2. Only one object is in memory at a time, with the params and namespaces that were needed so far. Each of these
//     is read once.
//  3. The policies pass the API server's own validation before the first object is tried.
package trial
