package datadir

import (
	"errors"
	"fmt"
	"io"
)

// bootstrapEntries is the number of entries of a new log that name its members. etcd counts them as committed before
// they are written, so a database may have entries that its log lacks. A single member applies no other entry before
// it is on the disk.
const bootstrapEntries = 1

// tailBytes is the distance that a check reads beyond the end of the log. A gap there matters only if the database
// lacks its entries, and the database is a tenth of a second behind the log.
const tailBytes = 8 << 20

// zeros mark the end of the log for etcd.
const zeros = "zeros"

// State is a directory on which an etcd can start.
type State struct {
	Database Database
	// HasLog says that there is a log; Last is its last entry. Commit is the last entry that the log calls committed: 0
	// in a log that was created and never written to.
	HasLog       bool
	Last, Commit uint64
}

// Check says whether an etcd can start in dir. An error is a *Damage, ErrInUse, or about something that could not be
// read. It reads every page of the database and the last segment of the log. It leaves out what etcd itself finds
// before it changes anything.
func Check(dir string) (state State, err error) {
	path := DatabasePath(dir)
	state.Database, err = ReadDatabase(path)
	if errors.Is(err, ErrInUse) {
		return state, err
	} else if err != nil {
		return state, &Damage{Dir: dir, File: path, What: err.Error(), Saved: "what can be read of it, and the log,"}
	}
	all, err := segments(LogPath(dir))
	if err != nil {
		return state, fmt.Errorf("read the log in %s: %w", LogPath(dir), err)
	}
	if len(all) == 0 {
		return state, state.tooShort(dir, LogPath(dir), "it has no log file")
	}
	state.HasLog = true
	last := all[len(all)-1]
	end, err := state.readLast(last)
	if err != nil {
		return state, &Damage{
			Dir: dir, File: last.path, What: err.Error(),
			Saved: state.Database.savedText(state.Database.Index, state.Last),
		}
	}
	return state, state.tooShort(dir, last.path, fmt.Sprintf("it ends at byte %d with entry %d", end, state.Last))
}

// tooShort returns a *Damage if the log ends before the last entry that the database has. In a cluster of several
// members it may: a follower applies what it hears while it still writes it to its log, and its leader sends it again.
func (s *State) tooShort(dir, file, what string) error {
	if s.Database.Index <= max(s.Last, bootstrapEntries) || s.HasLog && s.Database.Members > 1 {
		return nil
	}
	what += fmt.Sprintf(", and the database has entry %d", s.Database.Index)
	return &Damage{Dir: dir, File: file, What: what, Saved: s.Database.savedText(0, 0)}
}

// readLast reads the last segment as etcd does. etcd truncates it behind the last readable record.
func (s *State) readLast(last segment) (end int64, err error) {
	s.Last = last.lastBefore()
	r, err := openRecords(last.path)
	if err != nil {
		return 0, err
	}
	defer r.close()
	var reason error
	for reason == nil {
		var rec record
		if rec, reason = r.read(); reason == nil {
			s.count(rec)
		}
	}
	end = r.next
	what := zeros
	if stopped := (*stop)(nil); errors.As(reason, &stopped) {
		if what = stopped.reason; !stopped.torn {
			return end, fmt.Errorf("it has %w at byte %d, after entry %d", reason, end, s.Last)
		}
	} else if !errors.Is(reason, io.EOF) {
		return end, reason
	}
	if s.Commit > s.Last {
		return end, fmt.Errorf("it ends at byte %d with entry %d, and says that entry %d was committed", end, s.Last, s.Commit)
	}
	if behind := r.committedBehind(end); behind > s.Last {
		return end, fmt.Errorf("it has %s at byte %d, after entry %d, and later records say that entry %d was committed", what, end,
			s.Last, behind)
	}
	return end, nil
}

func (s *State) count(rec record) {
	switch rec.kind {
	case entryRecord:
		s.Last = entryIndex(rec.data)
	case snapshotRecord:
		s.Last = max(s.Last, snapshotIndex(rec.data))
	case stateRecord:
		s.Commit = stateCommit(rec.data)
	}
}

// committedBehind returns the last entry that the records behind a gap call committed, 0 if there are none. A torn
// write may leave records behind a gap, too. But an entry is committed only once it is on the disk, so such records
// never call an entry in the gap committed.
func (r *records) committedBehind(end int64) (commit uint64) {
	to := min(end+tailBytes, r.size)
	for r.resume(end+frameBytes, to) {
		for {
			rec, err := r.read()
			if err != nil {
				break
			}
			if rec.kind == stateRecord {
				commit = max(commit, stateCommit(rec.data))
			}
		}
		end = r.next
	}
	return commit
}
