// Package trial predicts what admission policies would do to stored objects, without installing them.
//
// In come the files of policies, bindings and params, and objects as a server answers them. Out goes, for each object,
// what would come of a write of it: the refusal, the validations that do not hold and what their bindings do about
// that, warnings, annotations of the audit log, and the object as the policies would change it. The evaluation is the
// server's own, of package server/admission/policy.
//
// files.go reads the files, params.go and namespaces.go what expressions see beside the object, objects.go has its
// types, and trial.go writes what is never written.
//
// # Invariants
//
//  1. Nothing is written. The server is asked for objects, for what describes them, who asks, and what they may do.
//  2. One object is in memory at a time, with the params and namespaces that were needed so far. These are read once.
//  3. The policies are valid by the API server's own validation before the first object is tried.
package trial
