package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
)

// lockWait is how long the directory may stay locked: a process that was killed a moment ago may not be gone yet.
const lockWait = 200 * time.Millisecond

// prepareDir makes the directory and checks, before etcd opens it, what etcd itself would wait for or die of.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("embedded etcd: cannot make the data directory: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return fmt.Errorf("embedded etcd: cannot write to the data directory: %w", err)
	}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		return fmt.Errorf("embedded etcd: cannot write to the data directory: %w", err)
	}
	member := filepath.Join(dir, "member")
	db := filepath.Join(member, "snap", "db")
	if info, err := os.Stat(db); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("embedded etcd: cannot read the data directory: %w", err)
	} else if info.Size() == 0 {
		// etcd was stopped between making the file and filling it, and fills it now.
		return nil
	}
	hasMembers, err := checkDB(db)
	if errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("embedded etcd: the data directory %s is in use by another process: stop that one, or use another directory", dir)
	} else if err != nil {
		return fmt.Errorf("embedded etcd: %s is damaged: restore the data directory from a backup, or use another one: %w", db, err)
	}
	if !hasMembers && nothingCommitted(filepath.Join(member, "wal")) {
		// A first start was stopped before it had written down that it is a cluster of one. etcd would wait for a leader
		// forever. Nothing was ever acknowledged here, so beginning anew loses nothing.
		if err := os.RemoveAll(member); err != nil {
			return fmt.Errorf("embedded etcd: remove what an interrupted first start left: %w", err)
		}
	}
	return nil
}

// checkDB opens the database for reading. That takes its lock, which etcd's server holds for as long as it runs, and
// finds a damaged beginning or a missing end. hasMembers says whether the database knows a cluster.
func checkDB(path string) (hasMembers bool, err error) {
	// A file shorter than it says is a fault of the memory mapping, not an error.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	err = db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("it has %d bytes and should have %d", info.Size(), tx.Size())
		}
		if members := tx.Bucket([]byte("members")); members != nil {
			first, _ := members.Cursor().First()
			hasMembers = first != nil
		}
		return nil
	})
	return hasMembers, err
}

// nothingCommitted says whether the log was begun and holds no commitment: etcd writes its first one together with its
// first entries.
func nothingCommitted(dir string) bool {
	if !wal.Exist(dir) {
		return false
	}
	log, err := wal.OpenForRead(zap.NewNop(), dir, &walpb.Snapshot{})
	if err != nil {
		return false
	}
	defer func() { _ = log.Close() }()
	_, state, _, err := log.ReadAll()
	return err == nil && state.GetCommit() == 0
}
