package datadir

import (
	"errors"
	"fmt"
	"path/filepath"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Gap is a part of the log that cannot be read.
type Gap struct {
	File string `json:"file"`
	// Offset is where it begins.
	Offset int64  `json:"offset"`
	What   string `json:"what"`
	// After is the last entry before it.
	After uint64 `json:"after"`
}

func (g Gap) String() string {
	return fmt.Sprintf("%s has %s at byte %d, after entry %d", g.File, g.What, g.Offset, g.After)
}

// Log describes the readable part of a log.
type Log struct {
	Files int
	// Metadata is etcd's: the member's and the cluster's IDs.
	Metadata []byte
	// Snapshot is the last entry that etcd says the database has.
	Snapshot uint64
	// First and Last are the first and the last entry that can be read; Commit is the last that was committed.
	First, Last, Commit uint64
	Gaps                []Gap
}

// ReadLog reads all segments of the log in dir and skips what it can't read. visit, if not nil, is called with each
// entry in the order of the log. The remains of a torn last write are not a gap.
func ReadLog(dir string, visit func(*raftpb.Entry) error) (*Log, error) {
	all, err := segments(LogPath(dir))
	if err != nil {
		return nil, fmt.Errorf("read the log in %s: %w", LogPath(dir), err)
	}
	l := &logReader{Log: Log{Files: len(all)}, visit: visit}
	for i, s := range all {
		if i > 0 && s.sequence != all[i-1].sequence+1 {
			l.gap("no next file but " + filepath.Base(s.path))
			l.sum = 0
		}
		if err := l.segment(s, i == len(all)-1); err != nil {
			return nil, err
		}
	}
	if l.Commit > l.at {
		l.gap(fmt.Sprintf("an end before entry %d, which was committed,", l.Commit))
	}
	return &l.Log, nil
}

// logReader is the state of reading a log.
type logReader struct {
	Log
	visit func(*raftpb.Entry) error
	// Records were read up to end of file. at is the last entry, and sum the checksum of all records; 0 is unknown.
	file string
	end  int64
	at   uint64
	sum  uint32
}

func (l *logReader) gap(what string) {
	l.Gaps = append(l.Gaps, Gap{File: l.file, Offset: l.end, What: what, After: l.at})
}

func (l *logReader) segment(s segment, last bool) error {
	r, err := openRecords(s.path)
	if err != nil {
		l.file, l.end, l.sum = s.path, 0, 0
		l.gap("an error (" + err.Error() + ")")
		return nil
	}
	defer r.close()
	if first, err := r.read(); err == nil && first.kind == sumRecord && l.sum != 0 && first.sum != l.sum {
		l.gap("an end before what the next file continues")
	}
	r.seek(0, 0)
	l.file = s.path
	for {
		reason, err := l.records(r)
		if err != nil {
			return err
		}
		l.end, l.sum = r.next, r.sum
		stopped := (*stop)(nil)
		isStop := errors.As(reason, &stopped)
		if last && (!isStop || stopped.torn) && r.committedBehind(l.end) <= l.at {
			return nil
		}
		more := r.resume(l.end+frameBytes, r.size)
		switch {
		case isStop:
			l.gap(stopped.reason)
		case more:
			l.gap(zeros)
		}
		if !more {
			return nil
		}
	}
}

// records reads until it meets something unreadable, which reason describes.
func (l *logReader) records(r *records) (reason, failure error) {
	for {
		rec, err := r.read()
		if err != nil {
			return err, nil
		}
		if err := l.take(rec); err != nil {
			return nil, err
		}
	}
}

func (l *logReader) take(rec record) error {
	switch rec.kind {
	case metadataRecord:
		l.Metadata = append([]byte(nil), rec.data...)
	case stateRecord:
		l.Commit = max(l.Commit, stateCommit(rec.data))
	case snapshotRecord:
		l.Snapshot = max(l.Snapshot, snapshotIndex(rec.data))
		l.at = max(l.at, l.Snapshot)
	case entryRecord:
		l.at = entryIndex(rec.data)
		l.Last = l.at
		if l.First == 0 {
			l.First = l.at
		}
		if l.visit == nil {
			return nil
		}
		entry := &raftpb.Entry{}
		if err := proto.Unmarshal(rec.data, entry); err != nil {
			return fmt.Errorf("%s: entry %d: %w", l.file, l.at, err)
		}
		return l.visit(entry)
	}
	return nil
}

// Continuation picks the entries of a log that continue a database without a gap.
type Continuation struct {
	// From is the last entry that was applied to the database, Last the last one that continues it.
	From, Last uint64
}

// Continue says whether the next entry of the log belongs to it. An entry whose index repeats replaces all from that
// index on.
func (c *Continuation) Continue(index uint64) bool {
	c.Last = max(c.Last, c.From)
	if index <= c.From || index > c.Last+1 {
		return false
	}
	c.Last = index
	return true
}

// Explain says what is damaged in a directory on which etcd did not start. It returns nil if it finds nothing.
func Explain(dir string) *Damage {
	state, err := Check(dir)
	if damage := (*Damage)(nil); errors.As(err, &damage) {
		return damage
	}
	c := Continuation{From: state.Database.Index}
	log, err := ReadLog(dir, func(e *raftpb.Entry) error { c.Continue(e.GetIndex()); return nil })
	if err != nil {
		return nil
	}
	if len(log.Gaps) == 0 {
		return missingDatabase(dir, state.Database, log, c)
	}
	gap := log.Gaps[0]
	return &Damage{
		Dir: dir, File: gap.File, What: fmt.Sprintf("it has %s at byte %d, after entry %d", gap.What, gap.Offset, gap.After),
		Saved: state.Database.savedText(c.From, c.Last),
	}
}

// missingDatabase explains an empty or missing database that the log believes to be full.
func missingDatabase(dir string, d Database, log *Log, c Continuation) *Damage {
	if d.Index != 0 || log.Snapshot == 0 {
		return nil
	}
	what := fmt.Sprintf("it is missing or empty, and the log says that it has entry %d", log.Snapshot)
	return &Damage{Dir: dir, File: DatabasePath(dir), What: what, Saved: d.savedText(0, c.Last)}
}
