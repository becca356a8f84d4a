// Package work is what the controllers of definitions have in common: a [Queue] of names that somebody should look at, and
// [Status], by which they write what they found.
//
// In comes a name, whenever something changed. Out goes a batch of names to whoever works on them, at once if nobody is
// working and together with what else has come if somebody is: 500 changes are then a few dozen batches, and what a
// batch must know of all definitions is worked out once for all of it.
//
// # Invariants
//
//  1. A name is in the queue once, however often it was added. So the queue is never longer than there are definitions.
//  2. A name that is added while it is worked on is worked on again.
//  3. What failed is tried again, after a pause that doubles each time. What was done on a state that is not the newest
//     ([ErrChanged]) did not fail: the change that made it so is told of, and adds the name again. Several processes on
//     one etcd do the same work, so this happens all the time, and nobody hears of it.
//  4. A write is made on the state that was judged, or not at all.
package work
