// Package work holds the common parts of the controllers of definitions: a [Queue] of names to examine, and
// [Status], which writes their conditions.
//
// In comes a name at each change. Out goes a batch of names to the controller: at once if it is idle, and
// otherwise together with all names that arrive in the meantime. So 500 changes make a few dozen batches, and a
// batch surveys all definitions once.
//
// # Invariants
//
//  1. A name is in the queue once, however often it was added. So the queue is never longer than the number of
//     definitions.
//  2. A name that is added during its own batch is examined again.
//  3. A failure is retried after a pause that doubles each time. [ErrChanged] is no failure: the definition
//     has changed since, and that change adds the name again. Several processes on one etcd do the same work,
//     so this is frequent and not logged.
//  4. A write fails if the definition has changed since it was judged.
//  5. A write is a journey whose cause is the revision that was judged. It is never held or disturbed.
package work
