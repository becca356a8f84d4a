// Package registry is what the REST storages of nearly all resources have in common.
//
// It owns [Store]: create, read, update and delete with all that the API promises about them and that a bare storage
// knows nothing of: names that are generated, the metadata that only the server sets, validation by the resource's
// strategies, optimistic locking, graceful deletion, finalizers, preconditions, dry runs. One file a verb.
//
// What comes in: the request's context (with its namespace and, normally, its RequestInfo), a name or an object in the
// storage version, and the verb's options. What goes out: an object, or an error that carries a metav1.Status. Below is
// a store.Interface, always reached through [DryRunnableStorage].
//
// A verb goes through these stages, in this order:
//
//	Create   name and system fields · BeginCreate · BeforeCreate (strategy, validation) · admission · storage ·
//	         the finish function of BeginCreate · AfterCreate · Decorator
//	Update   storage calls tryUpdate, once or more: the next state · resourceVersion · BeginUpdate ·
//	         BeforeUpdate (strategy, validation) · admission · finish function;
//	         then AfterUpdate · Decorator; or deletion, if the update took the last finalizer away
//	Delete   read · BeforeDelete (preconditions, grace) · mark as deleting, if somebody must act first ·
//	         otherwise remove · AfterDelete · Decorator
//
// Invariants:
//
//  1. A dry run goes through every stage and writes nothing.
//  2. Validation and admission see the object as it will be stored; what they saw and what is stored differ in nothing
//     but what Canonicalize does.
//  3. An object with finalizers is never removed. It is marked as deleting, and goes with the update that takes the last
//     finalizer away.
//  4. Errors of the storage become API errors in one file, errors.go.
//
// A Store may be copied after CompleteWithOptions: the copies share the storage, and that is how a status subresource
// gets other strategies.
package registry
