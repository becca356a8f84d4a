// Package registry implements what the REST storages of nearly all resources share.
//
// It owns [Store]: create, read, update and delete, with what the API promises and a bare storage does not know. These
// are generated names, the metadata that only the server sets, validation by the resource's strategies, optimistic
// locking, graceful deletion, finalizers, preconditions and dry runs. There is one file a verb; [Hooks] are in
// hooks.go.
//
// What comes in: the request's context (with its namespace and, normally, its RequestInfo), a name or an object in the
// storage version, and the verb's options. What goes out: an object, or an error that carries a metav1.Status. Get and
// List are GetEncoded and ListEncoded and a decoding. Below is a store.Interface, always reached through
// [DryRunnableStorage].
//
// A verb goes through these stages, in this order:
//
//	Create   name and system fields · BeginCreate · BeforeCreate (strategy, validation) · admission · storage ·
//	         the finish function of BeginCreate · AfterCreate · Decorator
//	Update   storage calls tryUpdate, once or more: the next state · resourceVersion · BeginUpdate ·
//	         BeforeUpdate (strategy, validation) · admission · finish function;
//	         then AfterUpdate · Decorator; or deletion, if the update took the last finalizer away
//	Delete   read · BeforeDelete (preconditions, grace) · mark as deleting, if finalizers or grace hold it ·
//	         otherwise remove · AfterDelete · Decorator
//
// Invariants:
//
//  1. A dry run goes through every stage and writes nothing.
//  2. Validation and admission see the object as the storage gets it, before Canonicalize.
//  3. An object with finalizers is never removed. It is marked as deleting; the update that takes the last finalizer
//     away removes it.
//  4. Errors of the storage become API errors in one file, errors.go.
//  5. The description of a Store does not change after CompleteWithOptions. A copy of a Store shares the storage, so a
//     status subresource is a copy with another UpdateStrategy.
package registry
