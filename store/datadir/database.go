package datadir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockWait bounds the wait for the database's lock: a process that was just killed may still hold it.
const lockWait = 200 * time.Millisecond

// ErrInUse says that an etcd has the directory open.
var ErrInUse = errors.New("it is in use by another process")

// Database describes etcd's database.
type Database struct {
	// Index is the last entry of the log that was applied to the database.
	Index uint64
	// Members counts the members that the database lists.
	Members int
	// StorageVersion is the version of its files, empty before 3.6, and ClusterVersion the one that its members agreed
	// on.
	StorageVersion, ClusterVersion string
	// Revision is the newest revision that it holds.
	Revision int64
}

// DatabasePath is the path of the database of an etcd in dir.
func DatabasePath(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

// LogPath is the directory of the log of an etcd in dir.
func LogPath(dir string) string { return filepath.Join(dir, "member", "wal") }

// ReadDatabase reads a database. It needs the lock that a running etcd holds. It finds a damaged beginning, a missing
// end, and misplaced pages; it does not check values. A missing or empty file is a new database.
func ReadDatabase(path string) (d Database, err error) {
	// Reading past the end of a truncated file is a memory fault, not an error.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return d, nil
	} else if err != nil {
		return d, err
	} else if info.Size() == 0 {
		// etcd was stopped before it filled the new file, and will do so at its next start.
		return d, nil
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return d, ErrInUse
	} else if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("it has %d bytes and should have %d", info.Size(), tx.Size())
		}
		if err := checkPages(path); err != nil {
			return err
		}
		d.read(tx)
		return nil
	})
	return d, err
}

// checkPages reads the tree of each bucket. etcd does so too when it opens the database, but an unexpected page crashes
// its process.
func checkPages(path string) error {
	pages, err := OpenPages(path)
	if err != nil {
		return err
	}
	defer pages.Close()
	err = pages.Buckets(func(string) error { return nil }, func(string, []byte, []byte) error { return nil })
	if err == nil && len(pages.Lost) > 0 {
		err = errors.New(pages.Lost[0].Why)
	}
	return err
}

func (d *Database) read(tx *bolt.Tx) {
	if meta := tx.Bucket([]byte("meta")); meta != nil {
		if index := meta.Get([]byte("consistent_index")); len(index) == 8 {
			d.Index = binary.BigEndian.Uint64(index)
		}
		d.StorageVersion = string(meta.Get([]byte("storageVersion")))
	}
	if cluster := tx.Bucket([]byte("cluster")); cluster != nil {
		d.ClusterVersion = string(cluster.Get([]byte("clusterVersion")))
	}
	if members := tx.Bucket([]byte("members")); members != nil {
		for c, k := members.Cursor(), []byte(nil); ; d.Members++ {
			if d.Members == 0 {
				k, _ = c.First()
			} else {
				k, _ = c.Next()
			}
			if k == nil {
				break
			}
		}
	}
	if keys := tx.Bucket([]byte("key")); keys != nil {
		if last, _ := keys.Cursor().Last(); len(last) >= 8 {
			d.Revision = int64(binary.BigEndian.Uint64(last))
		}
	}
}
