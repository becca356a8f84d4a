// Package store is the contract between a resource's REST storage and whatever keeps its objects.
//
// It owns one interface, [Interface], its options, its errors, the predicate that selects objects, and the form of
// continue tokens and keys. Beside it stands [EncodedStorage], which reads and writes the same without decoding it. The
// package has no storage of its own: store/etcd3 implements both on etcd, store/cacher in front of another
// implementation, and store/registry calls them.
//
// What comes in: a key below the resource's prefix, a runtime.Object and options. What goes out: objects written into
// the caller's out-parameters, with their resourceVersion set, or one of the errors of this package.
//
// Names and semantics are those of the Kubernetes API server's storage.Interface, to the letter, so that a program or a
// test written against that one reaches this one through an adapter that only translates types.
//
// Invariants that every implementation keeps:
//
//  1. A resourceVersion is an etcd revision in decimal; revisions of one store grow by one order for all its keys.
//  2. An object that goes out carries the revision of its last change, never the one it had when it came in.
//  3. Stored objects carry no resourceVersion and no selfLink.
//  4. What came in is not modified, and what went out is not modified later. The one exception is an object that is
//     suggested as the present state: it has no resourceVersion while the call lasts, so no other goroutine may
//     read it then.
//  5. A new object is written only while the [Condition] of its context holds.
//  6. A write whose context is from [WithDecision] fails with [ErrRewound] after a rewind.
//
// Selectors. A predicate asks each object, so a selector of many terms is compiled ([CompileLabels], [CompileFields]):
// an object costs one lookup for each label or field of the selector, not for each term. server/handler bounds both
// numbers.
package store
