package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// A snapshot from etcd ends with the SHA-256 of all bytes before it. A database file consists of whole pages.
const (
	sumBytes    = sha256.Size
	sectorBytes = 512
)

// SnapshotInfo describes a snapshot.
type SnapshotInfo struct {
	File string `json:"file"`
	Head
	Keys int64 `json:"keys"`
	Size int64 `json:"size"`
	// Sum is the verified SHA-256 at the end of the file. A copy of a database file has none.
	Sum string `json:"sha256,omitempty"`
}

// SaveSnapshot writes a member's database to a file that only its owner can read. The file gets its name when it is complete
// and verified. progress, if not nil, is called with the number of bytes received.
func (l *Live) SaveSnapshot(ctx context.Context, file string, progress func(bytes int)) (*SnapshotInfo, error) {
	if _, err := os.Stat(file); err == nil {
		return nil, fmt.Errorf("%s is there already: remove it, or give another name", file)
	}
	resp, err := l.Client.SnapshotWithVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: snapshot: %w", l.Name(), err)
	}
	defer resp.Snapshot.Close()
	part := file + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(f, &counting{resp.Snapshot, progress})
	err = errors.Join(err, f.Sync(), f.Close())
	var sum []byte
	if err == nil {
		sum, err = checkSum(part)
	}
	if err == nil && sum == nil {
		err = errors.New("it came without its sum: it is not complete")
	}
	if err == nil {
		err = os.Rename(part, file)
	}
	if err != nil {
		_ = os.Remove(part)
		return nil, fmt.Errorf("%s: snapshot to %s: %w", l.Name(), file, err)
	}
	return SnapshotStatus(ctx, file)
}

type counting struct {
	io.Reader
	progress func(int)
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.progress != nil {
		c.progress(n)
	}
	return n, err
}

// checkSum returns the sum at the end of a file, nil if it has none, or an error if the sum is wrong.
func checkSum(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size()%sectorBytes != sumBytes {
		return nil, err
	}
	h := sha256.New()
	if _, err := io.CopyN(h, f, info.Size()-sumBytes); err != nil {
		return nil, err
	}
	sum, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(h.Sum(nil), sum) {
		return nil, fmt.Errorf("%s is damaged: its SHA-256 is not the one at its end", file)
	}
	return sum, nil
}

// SnapshotStatus checks a snapshot from end to end.
func SnapshotStatus(ctx context.Context, path string) (*SnapshotInfo, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info := &SnapshotInfo{File: f.path}
	sum, err := checkSum(f.path)
	if err != nil {
		return nil, err
	}
	info.Sum = fmt.Sprintf("%x", sum)
	err = f.guard(func() error {
		for err := range f.tx.Check() {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if info.Head, err = f.Head(ctx); err != nil {
		return nil, err
	}
	index, err := f.index("", info.Revision)
	if err != nil {
		return nil, err
	}
	info.Keys = int64(len(index))
	info.Size = f.tx.Size()
	return info, nil
}

// RestoreOptions say what a restore reads and writes.
type RestoreOptions struct {
	// File is a snapshot, or the database of a stopped member.
	File string
	// Dir is the new data directory. It must be missing or empty.
	Dir string
	// Bump is added to the revision. It must exceed the number of revisions that clients saw after the snapshot was taken, so
	// that no revision has two meanings.
	Bump int64
}

// errNoDirectory refuses an empty name for the new directory. To the system it is the working directory; to the user it is
// mostly an unset variable.
var errNoDirectory = errors.New("no directory to make was given: its name is empty")

// Restored is the result of a restore.
type Restored struct {
	Dir string `json:"dir"`
	// Snapshot is the snapshot's revision, Revision the first one of the new etcd. History before Revision is compacted, so that
	// a watch from an older revision fails and its client lists again.
	Snapshot int64 `json:"snapshot"`
	Revision int64 `json:"revision"`
}

// Restore makes a data directory from a snapshot. It holds keys, values and leases and belongs to no cluster: each etcd that
// is started in a copy of it is a new member of the cluster that its flags name.
//
// The new etcd finds no log and begins one, so the database must not claim to have applied any entry. An unfinished
// compaction in the database is no problem: etcd finishes it when it starts.
func Restore(ctx context.Context, o RestoreOptions, progress func(bytes int)) (*Restored, error) {
	if o.Dir == "" {
		return nil, errNoDirectory
	}
	info, err := SnapshotStatus(ctx, o.File)
	if err != nil {
		return nil, err
	}
	if o.Bump < 1 {
		return nil, fmt.Errorf("a revision can't be raised by %d: clients would take what is new for what they know", o.Bump)
	}
	if entries, err := os.ReadDir(o.Dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: a restore makes a new directory", o.Dir)
	}
	dir := filepath.Join(o.Dir, "member", "snap")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// It has another name until it is complete: with half a database etcd does not start, and with none it starts empty.
	database, part := filepath.Join(dir, "db"), filepath.Join(dir, "db.part")
	if err := copyDatabase(info, part, progress); err != nil {
		return nil, fmt.Errorf("restore %s to %s: %w", info.File, o.Dir, err)
	}
	out := &Restored{Dir: o.Dir, Snapshot: info.Revision, Revision: info.Revision + o.Bump}
	if err := makeNew(part, out.Revision); err != nil {
		return nil, fmt.Errorf("restore %s to %s: %w", info.File, o.Dir, err)
	}
	return out, os.Rename(part, database)
}

func copyDatabase(info *SnapshotInfo, to string, progress func(bytes int)) error {
	in, err := os.Open(info.File)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, &counting{in, progress}, info.Size)
	return errors.Join(err, out.Sync(), out.Close())
}

// makeNew detaches a database from its cluster and log, and raises its revision.
func makeNew(file string, revision int64) error {
	db, err := bolt.Open(file, 0o600, &bolt.Options{Timeout: lockWait})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if err := detach(tx); err != nil {
			return err
		}
		return tx.Bucket(metaBucket).Put(scheduledCompact, place{main: revision}.bytes())
	})
	return errors.Join(err, db.Close())
}

// detach removes what ties a database to a cluster and its log.
func detach(tx *bolt.Tx) error {
	for _, name := range []string{"members", "members_removed"} {
		if tx.Bucket([]byte(name)) == nil {
			continue
		}
		if err := tx.DeleteBucket([]byte(name)); err != nil {
			return err
		}
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	for _, name := range []string{"consistent_index", "term"} {
		if err := meta.Put([]byte(name), binary.BigEndian.AppendUint64(nil, 0)); err != nil {
			return err
		}
	}
	return nil
}
