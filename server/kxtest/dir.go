package kxtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// dirPrefix begins the names of the servers' directories.
	dirPrefix = "kxtest-server-"
	// lockName is the file that the test's process locks for as long as it uses the directory.
	lockName = "kxtest.lock"
)

// directory is a server's directory for temporary files.
type directory struct {
	path string
	lock *os.File
}

// newDirectory makes a directory, and removes those of processes that were killed.
func newDirectory() (*directory, error) {
	sweep(os.TempDir())
	for {
		path, err := os.MkdirTemp("", dirPrefix)
		if err != nil {
			return nil, fmt.Errorf("make a directory for the server: %w", err)
		}
		name := filepath.Join(path, lockName)
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			_, err = lock(f, true)
		}
		if err != nil {
			return nil, fmt.Errorf("lock the directory of the server: %w", err)
		}
		if _, err := os.Stat(name); err == nil {
			return &directory{path, f}, nil
		}
		f.Close() // another process found it without a lock, and removed it
	}
}

func (d *directory) file(name string) string { return filepath.Join(d.path, name) }

func (d *directory) remove() error {
	err := os.RemoveAll(d.path)
	d.lock.Close() // the last, or else another process could remove it too
	return err
}

// sweep removes the directories whose locks are free: their processes have ended. One without a lock is being made.
func sweep(parent string) {
	found, err := fs.Glob(os.DirFS(parent), dirPrefix+"*/"+lockName) // the name of parent is no pattern
	if err != nil {
		return
	}
	for _, name := range found {
		name = filepath.Join(parent, name)
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue // it is gone, or another user's
		}
		if free, err := lock(f, false); free && err == nil {
			os.RemoveAll(filepath.Dir(name))
		}
		f.Close()
	}
}
