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
	db := filepath.Join(dir, "member", "snap", "db")
	if _, err := os.Stat(db); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("embedded etcd: cannot read the data directory: %w", err)
	}
	if err := checkDB(db); errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("embedded etcd: the data directory %s is in use by another process: stop that one, or use another directory", dir)
	} else if err != nil {
		return fmt.Errorf("embedded etcd: %s is damaged: restore the data directory from a backup, or use another one: %w", db, err)
	}
	return nil
}

// checkDB opens the database for reading. That takes its lock, which etcd's server holds for as long as it runs, and
// finds a damaged beginning or a missing end.
func checkDB(path string) (err error) {
	// A file shorter than it says is a fault of the memory mapping, not an error.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("it has %d bytes and should have %d", info.Size(), tx.Size())
		}
		return nil
	})
}
