package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/kx-apiserver/kx/store/datadir"
	"github.com/kx-apiserver/kx/store/embedded"
)

// SalvageOptions say where a salvage reads and writes.
type SalvageOptions struct {
	// From is the data directory of an etcd or kx that does not run. Salvage does not change it.
	From string
	// Dir is the new data directory of an etcd. It must be missing or empty.
	Dir string
	// Bump is added to the revision. It should exceed the number of writes that can't be read any more.
	Bump int64
}

// SalvageResult is the result of a salvage.
type SalvageResult struct {
	Dir string `json:"dir"`
	// Database is the revision that the readable part of the database has. Entries of the log were applied to it, and
	// Salvaged is the revision after them.
	Database int64 `json:"database"`
	Entries  int   `json:"entries"`
	Salvaged int64 `json:"salvaged"`
	// Revision is the first revision of the new etcd. History before it is compacted, as after a restore.
	Revision int64 `json:"revision"`
	Keys     int64 `json:"keys"`
	// Losses lists what could not be read.
	Losses []Loss `json:"losses,omitempty"`
}

// Loss is something that could not be read.
type Loss struct {
	What string `json:"what"`
	// Keys are the lost keys, as far as they are known.
	Keys []string `json:"keys,omitempty"`
}

// findDataDir returns etcd's data directory: path itself, or the one inside the data directory of a kx.
func findDataDir(path string) (string, error) {
	for _, dir := range []string{path, filepath.Join(path, "etcd")} {
		if info, err := os.Stat(filepath.Join(dir, "member")); err == nil && info.IsDir() {
			return filepath.Clean(dir), nil
		}
	}
	return "", fmt.Errorf("%s is no data directory of etcd or kx: it has neither member nor etcd/member", path)
}

// Salvage makes a data directory from the readable parts of a damaged one: its database, and the entries of its log
// that continue the database without a gap. The new directory belongs to no cluster, as after [Restore].
//
// An etcd applies the entries, so that they have the same effect again: their revisions and comparisons stay the same.
func Salvage(ctx context.Context, o SalvageOptions) (out *SalvageResult, err error) {
	from, err := o.check()
	if err != nil {
		return nil, err
	}
	// The database is made elsewhere and moved when complete: with half a database etcd does not start, and with none
	// it starts empty. After a failure Dir is empty, so that the next salvage can use it.
	part := filepath.Join(o.Dir, "part")
	defer func() { err = errors.Join(err, os.RemoveAll(part)) }()
	s := &salvage{from: from, part: part, out: &SalvageResult{Dir: o.Dir}}
	if err := s.run(ctx, o.Bump); err != nil {
		return nil, fmt.Errorf("salvage %s to %s: %w", from, o.Dir, err)
	}
	member := filepath.Join(o.Dir, "member", "snap")
	if err := os.MkdirAll(member, 0o700); err != nil {
		return nil, err
	}
	if err := os.Rename(datadir.DatabasePath(part), filepath.Join(member, "db")); err != nil {
		return nil, err
	}
	if err := syncMade(o.Dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(filepath.Join(o.Dir, "member")))
	}
	return s.out, nil
}

func (o SalvageOptions) check() (from string, err error) {
	if from, err = findDataDir(o.From); err != nil {
		return "", err
	}
	if o.Dir == "" {
		return "", errNoDirectory
	}
	if o.Bump < 1 {
		return "", fmt.Errorf("a revision can't be raised by %d: clients would take what is new for what they know", o.Bump)
	}
	if is, err := isInside(o.Dir, from); err != nil {
		return "", err
	} else if is {
		return "", fmt.Errorf("%s is in %s, which is only read: give a directory elsewhere", o.Dir, from)
	}
	if entries, err := os.ReadDir(o.Dir); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty: a salvage makes a new directory", o.Dir)
	}
	if _, err := datadir.ReadDatabase(datadir.DatabasePath(from)); errors.Is(err, datadir.ErrInUse) {
		return "", fmt.Errorf("%s: %w: stop the etcd or kx that runs over it first", from, err)
	}
	return from, nil
}

// isInside says whether dir is other or inside it. Either may be relative.
func isInside(dir, other string) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	if other, err = filepath.Abs(other); err != nil {
		return false, err
	}
	inside, err := filepath.Rel(other, dir)
	return err == nil && inside != ".." && !strings.HasPrefix(inside, ".."+string(filepath.Separator)), nil
}

// salvage is the state of one Salvage.
type salvage struct {
	from, part string
	out        *SalvageResult
	// database describes the copied database before it is detached from its cluster.
	database datadir.Database
}

func (s *salvage) lose(what string, keys ...string) {
	s.out.Losses = append(s.out.Losses, Loss{What: what, Keys: keys})
}

func (s *salvage) run(ctx context.Context, bump int64) error {
	if err := s.copyDatabase(); err != nil {
		return err
	}
	if err := s.applyLog(ctx); err != nil {
		return err
	}
	path := datadir.DatabasePath(s.part)
	f, err := OpenFile(path)
	if err != nil {
		return err
	}
	head, err := f.Head(ctx)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err := checkBump(bump, head.Revision); err != nil {
		return errors.Join(err, f.Close())
	}
	s.out.Salvaged, s.out.Revision = head.Revision, head.Revision+bump
	index, err := f.index("", head.Revision)
	s.out.Keys = int64(len(index))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return makeNew(path, s.out.Revision, false)
}

// copyDatabase writes the readable part of the database to a new one.
func (s *salvage) copyDatabase() error {
	path := datadir.DatabasePath(s.part)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lost, err := copyPages(datadir.DatabasePath(s.from), path)
	if unreadable := (*unreadableError)(nil); errors.As(err, &unreadable) {
		s.lose("the database: " + unreadable.Error())
		return newDatabase(path)
	} else if err != nil {
		return err
	}
	for _, loss := range lost {
		s.lose(lossText(loss))
	}
	if s.database, err = datadir.ReadDatabase(path); err != nil {
		return err
	}
	s.out.Database = s.database.Revision
	return update(path, detach)
}

// newDatabase makes an empty database.
func newDatabase(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return update(path, func(tx *bolt.Tx) error {
		if _, err := tx.CreateBucketIfNotExists(keyBucket); err != nil {
			return err
		}
		return detach(tx)
	})
}

func update(path string, do func(tx *bolt.Tx) error) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockWait})
	if err != nil {
		return err
	}
	return errors.Join(db.Update(do), db.Close())
}

// applyLog applies the entries that continue the database.
func (s *salvage) applyLog(ctx context.Context) error {
	c := datadir.Continuation{From: s.database.Index}
	var unused unusedEntries
	log, err := datadir.ReadLog(s.from, func(e *raftpb.Entry) error {
		if !c.Continue(e.GetIndex()) && e.GetIndex() > c.From {
			unused.add(e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.loseEntries(log, max(c.Last, c.From), &unused)
	if c.Last <= c.From {
		return nil
	}
	s.out.Entries = int(c.Last - c.From)
	return embedded.Replay(ctx, s.part, func(visit func(*raftpb.Entry) error) error {
		again := datadir.Continuation{From: c.From}
		_, err := datadir.ReadLog(s.from, func(e *raftpb.Entry) error {
			if !again.Continue(e.GetIndex()) {
				return nil
			}
			return visit(e)
		})
		return err
	})
}

func entriesText(from, to uint64) string {
	if from == to {
		return fmt.Sprintf("entry %d", from)
	}
	return fmt.Sprintf("entries %d to %d", from, to)
}

// loseEntries reports the entries of the log that could not be read, and those that are useless without them.
func (s *salvage) loseEntries(log *datadir.Log, last uint64, unused *unusedEntries) {
	for _, gap := range log.Gaps {
		s.lose(gap.String())
	}
	switch {
	case unused.count > 0:
		s.lose(entriesText(last+1, unused.first-1) + " of the log")
		s.lose(fmt.Sprintf("%d entries of the log, %d to %d, can be read and not be applied without those before them; they are about",
			unused.count, unused.first, unused.last), unused.names()...)
	case log.Files == 0 || log.Last < s.database.Index || len(log.Gaps) > 0 && log.Gaps[len(log.Gaps)-1].After >= last:
		s.lose(fmt.Sprintf("entries of the log after %d, if there were any", last))
	}
}
