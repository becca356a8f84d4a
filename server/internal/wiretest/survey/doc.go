// Package survey compares what two servers answer to valid objects in which one field at a time is broken.
//
// One is a kube-apiserver, whose answers the module in server/testdata/upstream records; the other is kx, whose tests
// replay the recordings. What comes in are the valid objects, written by hand, in server/testdata/survey/objects. From
// each of them [Changes] makes the cases: every field that its Go type has, present or not, is removed, emptied,
// doubled or set to a value that it can't have. A [Server] is asked each case without a trace, by dryRun=All: as a new
// object, as an update of the stored one, and as a write of its status. What goes out is a [Recording], and from two of
// them a [Tally].
//
// Invariants:
//
//  1. The cases stand in the recording. A kx that replays it sends what the kube-apiserver was sent, whatever has
//     become of the types since.
//  2. The same objects and types give the same cases in the same order: where there are more than [Limit], a hash of
//     the case decides, and every kind of change of every field keeps at least one.
//  3. An answer to a broken object is recorded as its difference from the answer to the whole one, so that a difference
//     in a default is found once and not in every case.
package survey
