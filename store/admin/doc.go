// Package admin looks at and mends what lies below the API: the keys and values in etcd.
//
// It owns the reading of an etcd that runs ([Connect]) and of the files of one that does not ([OpenFile]), both behind
// one [Source]; the decoding of whatever an API server may have stored ([Decoder]); what can be told from keys, values
// and their revisions (trees, tops, histories, differences, searches, a health check); and guarded writes ([Editor],
// [Rewinder]).
//
// In come keys, revisions and files; out go streams of keys and values, decoded objects, and errors that name the key
// and the reason.
//
// Invariants:
//
//  1. Nothing here writes except Editor, Rewinder, the maintenance functions that say so, and Restore and Salvage, which
//     write to a new directory only. A file is opened for reading.
//  2. A write is one transaction that holds only if the key is at the revision that was read. What was there before an
//     Editor's write is in an undo file before the transaction is sent.
//  3. Streams are in the order of keys and hold a page of values at a time. A file's stream holds in addition where
//     each of its keys is, 48 bytes a revision.
//  4. No input makes the decoder panic, and no error has a value in it.
//
// The types of k8s.io/api are registered when the first protobuf value is decoded: importing this package costs
// nothing.
package admin
