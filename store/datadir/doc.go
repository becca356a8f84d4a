// Package datadir reads the files of an etcd that does not run, and says what is damaged in them.
//
// It owns two questions: whether an etcd can start on a directory ([Check], cheap enough for every start), and what can
// still be read of a damaged one ([ReadLog], which skips what it can't read).
//
// In comes the path of an etcd's directory; out come the state of its database and its log, and a [Damage] that says in
// one sentence which file is wrong, how, what can be saved and by which command.
//
// Invariants:
//
//  1. Nothing here writes.
//  2. What a crash of the process or of the machine may leave is no damage. etcd repairs such a directory itself: a
//     torn last write, a file that is allocated and not yet written, a first start that did not finish.
//  3. A directory is damaged if etcd would drop entries of the log that were acknowledged, or wait for them forever.
//
// Why a log that is too short keeps etcd waiting: the database knows up to which entry of the log it was written. etcd
// skips entries up to there. If the log ends before, etcd numbers new entries from the log's end, and skips those too.
package datadir
