package admin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/kx-apiserver/kx/store/datadir"
	"github.com/kx-apiserver/kx/store/datadir/durable"
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

// SaveSnapshot writes a member's database to a file that only its owner can read. The file gets its name when it is
// complete and verified. progress, if not nil, is called with the number of bytes received.
func (l *Live) SaveSnapshot(ctx context.Context, file string, progress func(bytes int)) (*SnapshotInfo, error) {
	if _, err := os.Stat(file); err == nil {
		return nil, fmt.Errorf("%s is there already: remove it, or give another name", file)
	}
	resp, err := l.Client.SnapshotWithVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: snapshot: %w", l.Name(), err)
	}
	defer resp.Snapshot.Close()
	part, err := durable.NewPart(file)
	if err != nil {
		return nil, err
	}
	defer part.Discard() // leaves the file alone once it is complete
	_, err = io.Copy(part, &countingReader{resp.Snapshot, progress})
	err = errors.Join(err, part.Sync(), part.Close())
	var sum []byte
	if err == nil {
		sum, err = checkSum(part.Name())
	}
	if err == nil && sum == nil {
		err = errors.New("it came without its sum: it is not complete")
	}
	if err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(file))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: snapshot to %s: %w", l.Name(), file, err)
	}
	return SnapshotStatus(ctx, file)
}

// Stream is a snapshot on its way from etcd.
type Stream struct {
	io.ReadCloser
	// Size is the number of bytes to read, with the sum at the end. Version is the version of etcd's files.
	Size    int64
	Version string
}

// OpenSnapshot requests a snapshot. Its size is in its first bytes. The caller closes the stream, and then ends ctx.
func (l *Live) OpenSnapshot(ctx context.Context) (*Stream, error) {
	resp, err := l.Client.SnapshotWithVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: snapshot: %w", l.Name(), err)
	}
	buffered := bufio.NewReader(resp.Snapshot)
	head, err := buffered.Peek(datadir.HeadBytes)
	var size int64
	if err == nil {
		size, err = datadir.SizeOf(head)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: snapshot: %w", l.Name(), err), resp.Snapshot.Close())
	}
	return &Stream{ReadCloser: struct {
		io.Reader
		io.Closer
	}{buffered, resp.Snapshot}, Size: size + sumBytes, Version: resp.Version}, nil
}

type countingReader struct {
	io.Reader
	progress func(int)
}

func (c *countingReader) Read(p []byte) (int, error) {
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

// RestoreOptions configure a restore.
type RestoreOptions struct {
	// File is a snapshot, or the database of a stopped member.
	File string
	// Dir is the new data directory. It must be missing or empty.
	Dir string
	// Bump is added to the revision. It must exceed the number of revisions that clients saw after the snapshot was
	// taken, so that no revision has two meanings.
	Bump int64
	// History leaves revision and history as they are, without a Bump: for a copy that no client of the original asks.
	History bool
}

// errNoDirectory refuses an empty name for the new directory. To the system it is the working directory; to the user it
// is mostly an unset variable.
var errNoDirectory = errors.New("no directory to make was given: its name is empty")

// RestoreResult is the result of a restore.
type RestoreResult struct {
	Dir  string `json:"dir"`
	Keys int64  `json:"keys"`
	// Snapshot is the snapshot's revision, Revision the first one of the new etcd. History before Revision is
	// compacted, so that a watch from an older revision fails and its client lists again.
	Snapshot int64 `json:"snapshot"`
	Revision int64 `json:"revision"`
	// Encryption counts the values by the key of an encryption configuration that they need.
	Encryption []NeededKey `json:"encryption,omitempty"`
}

// Restore makes a data directory from a snapshot. It holds keys, values and leases and belongs to no cluster: each etcd
// that is started in a copy of it is a new member of the cluster that its flags name. A restore that fails leaves
// nothing.
//
// The new etcd finds no log and begins one, so the database must not claim to have applied any entry. An unfinished
// compaction in the database is no problem: etcd finishes it when it starts.
func Restore(ctx context.Context, o RestoreOptions, progress func(bytes int)) (*RestoreResult, error) {
	if o.Dir == "" {
		return nil, errNoDirectory
	}
	info, err := SnapshotStatus(ctx, o.File)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(info.File)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	c, err := readDatabase(ctx, in, info.Size)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", info.File, err)
	}
	return RestoreDatabase(ctx, info.File, in, c, o, progress)
}

// checkBump returns an error if a raised revision would leave too few to count writes with.
func checkBump(bump, revision int64) error {
	if bump > math.MaxInt64/2-revision {
		return fmt.Errorf("a revision can't be raised by %d: too few would be left to count writes with", bump)
	}
	return nil
}

// RestoreDatabase is [Restore] from a reader with known contents. name stands for it in errors.
func RestoreDatabase(
	ctx context.Context, name string, in io.Reader, c *Contents, o RestoreOptions, progress func(bytes int),
) (_ *RestoreResult, err error) {
	if o.Bump < 1 && !o.History {
		return nil, fmt.Errorf("a revision can't be raised by %d: clients would take what is new for what they know", o.Bump)
	}
	if err := checkBump(o.Bump, c.Revision); err != nil {
		return nil, err
	}
	if err := datadir.CheckVersion(c.StorageVersion); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if entries, err := os.ReadDir(o.Dir); err == nil && len(entries) > 0 {
		return nil, notEmpty(o.Dir)
	}
	_, missing := os.Stat(o.Dir)
	defer func() {
		if err == nil {
			return
		}
		err = fmt.Errorf("restore %s to %s: %w", name, o.Dir, err)
		made := filepath.Join(o.Dir, "member")
		if missing != nil {
			made = o.Dir
		}
		err = errors.Join(err, os.RemoveAll(made))
	}()
	dir := filepath.Join(o.Dir, "member", "snap")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// It has another name until it is complete: with half a database etcd does not start, and with none it starts
	// empty.
	database, part := filepath.Join(dir, "db"), filepath.Join(dir, "db.part")
	if err := copyDatabase(ctx, in, c.Database, part, progress); err != nil {
		return nil, err
	}
	out := &RestoreResult{Dir: o.Dir, Keys: c.Keys, Snapshot: c.Revision, Revision: c.Revision + o.Bump, Encryption: c.Encryption}
	if err := makeNew(part, out.Revision, o.History); err != nil {
		return nil, err
	}
	if err := os.Rename(part, database); err != nil {
		return nil, err
	}
	return out, syncMade(o.Dir)
}

// syncMade makes a new database survive a crash of the machine: its name, and those of the directories above it up to
// that of dir.
func syncMade(dir string) error {
	var errs []error
	for _, path := range []string{filepath.Join(dir, "member", "snap"), filepath.Join(dir, "member"), dir, filepath.Dir(dir)} {
		errs = append(errs, durable.SyncDir(path))
	}
	return errors.Join(errs...)
}

// notEmpty refuses a directory that holds something, and says if an etcd runs there.
func notEmpty(dir string) error {
	if _, err := datadir.ReadDatabase(datadir.DatabasePath(dir)); errors.Is(err, datadir.ErrInUse) {
		return fmt.Errorf("an etcd runs on %s: stop it, and restore to a new directory", dir)
	}
	return fmt.Errorf("%s is not empty: a restore makes a new directory", dir)
}

func copyDatabase(ctx context.Context, in io.Reader, size int64, to string, progress func(bytes int)) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, &interruptible{ctx, &countingReader{in, progress}}, size)
	return errors.Join(err, ctx.Err(), out.Sync(), out.Close())
}

// interruptible is a reader that fails once ctx has ended.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// makeNew detaches a database from its cluster and log, and raises its revision unless it keeps its history.
func makeNew(file string, revision int64, history bool) error {
	db, err := bolt.Open(file, 0o600, &bolt.Options{Timeout: lockWait})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if err := detach(tx); err != nil || history {
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
	if err := disarmNoSpace(tx); err != nil {
		return err
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

// disarmNoSpace removes the alarms of members that had no space left. The new member raises its own if it has none
// either. An alarm of corruption stays: it is about the data.
func disarmNoSpace(tx *bolt.Tx) error {
	b := tx.Bucket([]byte("alarm"))
	if b == nil {
		return nil
	}
	var old [][]byte
	err := b.ForEach(func(key, _ []byte) error {
		var alarm etcdserverpb.AlarmMember
		if err := proto.Unmarshal(key, &alarm); err == nil && alarm.Alarm == etcdserverpb.AlarmType_NOSPACE {
			old = append(old, bytes.Clone(key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range old {
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return nil
}
