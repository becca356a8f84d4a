package admin

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// etcd's buckets, and the keys in the bucket for metadata.
var (
	keyBucket  = []byte("key")
	metaBucket = []byte("meta")

	finishedCompact  = []byte("finishedCompactRev")
	scheduledCompact = []byte("scheduledCompactRev")
)

const (
	// lockWait bounds the wait for a file's lock before reporting that another process has it.
	lockWait = 200 * time.Millisecond
	// filePage is the number of values that are copied from a file at a time.
	filePage = 64
)

// databasePaths are the places of etcd's database in the data directory of an etcd or a kx.
var databasePaths = []string{"member/snap/db", "etcd/member/snap/db", "db"}

// File is the database of an etcd that does not run: a snapshot, or that of a stopped member.
type File struct {
	path string
	db   *bolt.DB
	// tx stays open as long as the File: keys point into the mapped file.
	tx *bolt.Tx
}

var _ Source = &File{}

// FindDatabase returns the database that path means: path itself if it is a file, or the one in a data directory.
func FindDatabase(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, name := range databasePaths {
		db := filepath.Join(path, name)
		if info, err := os.Stat(db); err == nil && !info.IsDir() {
			return db, nil
		}
	}
	return "", fmt.Errorf("%s is no data directory of etcd or kx: it has none of %s", path, strings.Join(databasePaths, ", "))
}

// OpenFile opens a snapshot, or the database in the data directory of a stopped etcd or kx.
func OpenFile(path string) (*File, error) {
	path, err := FindDatabase(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path}
	if err := f.guard(func() error { return f.open() }); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// IsDatabase reports whether a file begins as the database of an etcd does.
func IsDatabase(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	const magicAt, magic = 16, 0xED0CDAED // of bolt's first page, behind the head that each page has
	begin := make([]byte, magicAt+4)
	switch _, err := io.ReadFull(f, begin); {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return false, nil
	case err != nil:
		return false, err
	}
	return binary.LittleEndian.Uint32(begin[magicAt:]) == magic, nil
}

func (f *File) open() error {
	var err error
	f.db, err = bolt.Open(f.path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return errors.New("an etcd has it open: leave out --file to ask that etcd, or stop it first")
	} else if err != nil {
		return fmt.Errorf("it is no database of etcd: %w", err)
	}
	if f.tx, err = f.db.Begin(false); err != nil {
		return err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if f.tx.Size() > info.Size() {
		return fmt.Errorf("it is cut off: it has %d bytes and should have %d", info.Size(), f.tx.Size())
	}
	if f.tx.Bucket(keyBucket) == nil || f.tx.Bucket(metaBucket) == nil {
		return errors.New("it is a bolt database, and not one of etcd")
	}
	return nil
}

// guard turns the effects of a damaged file into errors: memory faults in the mapping, and panics of bolt.
func (f *File) guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s is damaged: %v", f.path, r)
		}
	}()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

func (f *File) Name() string { return f.path }

func (f *File) Close() error {
	var errs []error
	if f.tx != nil {
		errs = append(errs, f.tx.Rollback())
	}
	if f.db != nil {
		errs = append(errs, f.db.Close())
	}
	f.tx, f.db = nil, nil
	return errors.Join(errs...)
}

// Size returns how large the file is, and how much of it is free.
func (f *File) Size() (size, free int64) {
	stats := f.db.Stats()
	return f.tx.Size(), int64(stats.FreePageN) * int64(f.db.Info().PageSize)
}

func (f *File) Head(context.Context) (head Head, err error) {
	err = f.guard(func() error {
		if last, _ := f.tx.Bucket(keyBucket).Cursor().Last(); last != nil {
			at, err := parsePlace(last)
			if err != nil {
				return err
			}
			head.Revision = at.main
		}
		// etcd starts at revision 1 with nothing in it.
		head.Revision = max(head.Revision, 1)
		for _, name := range [][]byte{finishedCompact, scheduledCompact} {
			if value := f.tx.Bucket(metaBucket).Get(name); len(value) >= 8 {
				head.Compacted = max(head.Compacted, int64(binary.BigEndian.Uint64(value)))
			}
		}
		head.Revision = max(head.Revision, head.Compacted)
		return nil
	})
	return head, err
}

// changes visits all changes between two revisions, both included, until visit returns false. It skips the record with
// an empty key, which a restore writes to raise the revision.
func (f *File) changes(from, to int64, visit func(place, record) (more bool)) error {
	c := f.tx.Bucket(keyBucket).Cursor()
	for k, v := c.Seek(place{main: from}.bytes()); k != nil; k, v = c.Next() {
		at, err := parsePlace(k)
		if err != nil {
			return err
		}
		if at.main > to {
			return nil
		}
		r, err := parseRecord(v)
		if err != nil {
			return fmt.Errorf("revision %d: %w", at.main, err)
		}
		if len(r.key) > 0 && !visit(at, r) {
			return nil
		}
	}
	return nil
}

// checkRevision replaces 0 by the newest revision.
func (f *File) checkRevision(revision int64) (int64, error) {
	head, err := f.Head(context.Background())
	if err != nil {
		return 0, err
	}
	switch {
	case revision == 0:
		return head.Revision, nil
	case revision < head.Compacted:
		return 0, fmt.Errorf("%s: revision %d: %w", f.path, revision, ErrCompacted)
	case revision > head.Revision:
		return 0, fmt.Errorf("%s: revision %d: %w", f.path, revision, ErrFuture)
	}
	return revision, nil
}

func (f *File) Get(_ context.Context, key string, revision int64) (kv *KV, err error) {
	if revision, err = f.checkRevision(revision); err != nil {
		return nil, err
	}
	err = f.guard(func() error {
		c := f.tx.Bucket(keyBucket).Cursor()
		// Going back from the newest change, the first one that names the key is the answer.
		before := c.Last
		if k, _ := c.Seek(place{main: revision + 1}.bytes()); k != nil {
			before = c.Prev
		}
		k, v := before()
		for ; k != nil; k, v = c.Prev() {
			at, err := parsePlace(k)
			if err != nil {
				return err
			}
			r, err := parseRecord(v)
			if err != nil {
				return fmt.Errorf("revision %d: %w", at.main, err)
			}
			if string(r.key) != key {
				continue
			}
			if !at.deleted {
				found := r.kv(true)
				kv = &found
			}
			return nil
		}
		return nil
	})
	return kv, err
}

// indexedChange is a change and its key.
type indexedChange struct {
	key []byte // the mapped file's
	at  place
}

// index returns the newest change of each key that begins with prefix, sorted by key.
func (f *File) index(prefix string, revision int64) ([]indexedChange, error) {
	var all []indexedChange
	err := f.guard(func() error {
		err := f.changes(0, revision, func(at place, r record) bool {
			if bytes.HasPrefix(r.key, []byte(prefix)) {
				all = append(all, indexedChange{r.key, at})
			}
			return true
		})
		// The sort is stable and revisions ascend, so the last change of each key is the newest.
		slices.SortStableFunc(all, func(a, b indexedChange) int { return bytes.Compare(a.key, b.key) })
		return err
	})
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for i, entry := range all {
		if i+1 < len(all) && bytes.Equal(all[i+1].key, entry.key) || entry.at.deleted {
			continue
		}
		kept = append(kept, entry)
	}
	return kept, nil
}

func (f *File) Range(ctx context.Context, r Range) iter.Seq2[KV, error] {
	return func(yield func(KV, error) bool) {
		revision, err := f.checkRevision(r.Revision)
		if err != nil {
			yield(KV{}, err)
			return
		}
		index, err := f.index(r.Prefix, revision)
		if err != nil {
			yield(KV{}, err)
			return
		}
		for page := range slices.Chunk(index, filePage) {
			kvs, err := f.read(page, !r.KeysOnly)
			for _, kv := range kvs {
				if !yield(kv, nil) {
					return
				}
			}
			if err = errors.Join(err, ctx.Err()); err != nil {
				yield(KV{}, err)
				return
			}
		}
	}
}

func (f *File) read(page []indexedChange, values bool) (kvs []KV, err error) {
	err = f.guard(func() error {
		bucket := f.tx.Bucket(keyBucket)
		for _, entry := range page {
			r, err := parseRecord(bucket.Get(entry.at.bytes()))
			if err != nil {
				return fmt.Errorf("%s: %w", entry.key, err)
			}
			kvs = append(kvs, r.kv(values))
		}
		return nil
	})
	return kvs, err
}

func (f *File) History(_ context.Context, key string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var places []place
		err := f.guard(func() error {
			return f.changes(0, math.MaxInt64, func(at place, r record) bool {
				if string(r.key) == key {
					places = append(places, at)
				}
				return true
			})
		})
		for _, at := range places {
			kvs, err := f.read([]indexedChange{{[]byte(key), at}}, true)
			if err != nil {
				yield(Event{}, err)
				return
			}
			e := Event{KV: kvs[0], Deleted: at.deleted}
			// The record of a deletion holds only the key.
			e.ModRevision = at.main
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(Event{}, err)
		}
	}
}
