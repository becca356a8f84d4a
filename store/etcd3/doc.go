// Package etcd3 keeps the objects of one resource in etcd.
//
// It owns the way from a key and an object to a transaction and back: the prefix of keys, the codec, the transformer,
// leases, paging, conflicts and their retries, watches, compaction. The data on disk is the Kubernetes API server's:
// the same keys, the same bytes, the same compact_rev_key, so that both may share an etcd.
//
// In comes a call of store.Interface; out go requests to etcd, one object or list, one error of package store or a
// *apierrors.StatusError. Any runtime.Object type will do, with any codec and transformer: see [Options].
//
// # The way of a call
//
//	Create             PrepareObjectForStorage → encode → TransformToStorage → txn(mod = 0, and the condition) → decode into out
//	Get                get → TransformFromStorage → decode
//	GetList            range, page by page → TransformFromStorage → decode → the predicate
//	GuaranteedUpdate   guess or get → tryUpdate → encode → TransformToStorage → txn(mod = seen) → decode; else again
//	Delete             guess or get → checks → txn(mod = seen); else again. What was checked is the answer
//	Watch              range, for the initial state → etcd's watch → TransformFromStorage → decode → the predicate
//	GetEncoded …       the same without decode; a cache fills itself by Follow and ReadAll
//
// # Invariants
//
//  1. A write is one transaction that compares the key's modRevision with the one of the state it was made from.
//     Nothing is ever written without having been compared. A create with a [store.Condition] also compares the
//     modRevision of the condition's key. If that fails, the condition is renewed and the create tried again.
//
//  2. A failure on a guess (a suggested state) is final only after another attempt on the state in etcd.
//
//  3. Bytes that etcd's client returns are read and never changed: it shares them between watches.
//
//  4. A watch is one goroutine. It sends events in the order of their revisions, at most one ERROR event and nothing
//     after it, and ends when its context ends, after Stop, and after an ERROR event.
//
//  5. Every write passes the [Gate], for its transaction alone. While it is shut, the stored objects are rewound.
//
//  6. Every request to etcd goes through kv.go, every value through transform.go: each step is traced in one place.
//
//  7. A list asks etcd for pages of 2 MiB, estimated from the size of earlier objects, and holds the first 2 MiB of a
//     ListEncoded. Later objects are read while the consumer takes them, at the same revision.
//
// # Values that can't be read
//
// An object whose bytes can't be decrypted or decoded fails a Get, and a LIST of its neighbours, with an error that
// names its key. With [WithCorruptObjErrorHandlingTransformer] and [WithCorruptObjErrorHandlingDecoder] a LIST collects
// those errors while it goes on, and [NewStoreWithUnsafeCorruptObjectDeletion] makes them errors that a client can
// read. Delete removes such an object if its options expect one. An unreadable object after the first 2 MiB of a
// ListEncoded ends the items with the same error.
package etcd3
