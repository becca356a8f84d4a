package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
)

// logTail is the part of etcd's log that a start replays: the entries after the newest snapshot.
type logTail struct {
	snapshot, last, commit uint64
}

// entries returns the number of entries.
func (l logTail) entries() uint64 { return l.last - l.snapshot }

// readLogTail reads the log of the member in a directory. A directory without a log has an empty tail.
func readLogTail(member string) (logTail, error) {
	dir := filepath.Join(member, "wal")
	if !wal.Exist(dir) {
		return logTail{}, nil
	}
	snapshots, err := snapshots(filepath.Join(member, "snap"))
	if err != nil {
		return logTail{}, err
	}
	for _, snapshot := range snapshots {
		tail, err := readLogAfter(dir, snapshot)
		if errors.Is(err, wal.ErrSnapshotNotFound) || err == nil && tail.commit < tail.snapshot {
			continue // etcd does not begin with this snapshot either
		}
		return tail, err
	}
	return readLogAfter(dir, &walpb.Snapshot{})
}

// snapshots returns the readable snapshots, the newest first. Their names are their terms and indexes.
func snapshots(dir string) ([]*walpb.Snapshot, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.snap"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	slices.Reverse(names)
	var found []*walpb.Snapshot
	for _, name := range names {
		if s, err := snap.Read(zap.NewNop(), name); err == nil {
			found = append(found, &walpb.Snapshot{Index: s.Metadata.Index, Term: s.Metadata.Term, ConfState: s.Metadata.ConfState})
		} else if errors.Is(err, os.ErrPermission) {
			return nil, err
		}
	}
	return found, nil
}

// readLogAfter reads the entries after a snapshot. A record that was being written when the process was killed is left
// out.
func readLogAfter(dir string, snapshot *walpb.Snapshot) (logTail, error) {
	log, err := wal.OpenForRead(zap.NewNop(), dir, snapshot)
	if err != nil {
		return logTail{}, err
	}
	defer func() { _ = log.Close() }()
	_, state, entries, err := log.ReadAll()
	tail := logTail{snapshot: snapshot.GetIndex(), last: snapshot.GetIndex() + uint64(len(entries)), commit: state.GetCommit()}
	return tail, err
}

// keepForElection sets how often etcd writes a snapshot and how many entries it keeps in memory, so that no election
// asks for an entry that is gone.
//
// A follower that stands for election looks for changes of membership among the entries that raft has committed and not
// yet seen applied. etcd drops entries from memory as soon as it has applied them, and raft learns that a moment later.
// If raft looks in between and an entry is gone, it panics. Only a start has a follower, and raft looks only at entries
// that the start replays: so etcd keeps as many. Once it leads there is no further election, since it is the only
// member.
//
// The very first entry is dropped by any compaction, whatever is kept. It is replayed only while there is no snapshot,
// so a directory without one gets it as soon as etcd compacts anything.
func keepForElection(c *embed.Config) {
	tail, err := readLogTail(filepath.Join(c.Dir, "member"))
	if err != nil {
		tail = logTail{} // etcd reads the log too, and says what is wrong with it
	}
	c.SnapshotCatchUpEntries = max(catchUpEntries, tail.entries())
	c.SnapshotCount = snapshotEntries
	if tail.snapshot == 0 {
		c.SnapshotCount = firstSnapshotEntries
	}
}

// dropsFirst tells whether a start with these settings drops the very first entry while raft may look for it. Such an
// etcd is left to stand for election by its own clock, which looks hundreds of milliseconds later.
func dropsFirst(c *embed.Config) bool {
	return c.SnapshotCount == firstSnapshotEntries && c.SnapshotCatchUpEntries > firstSnapshotEntries
}
