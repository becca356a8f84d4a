//go:build unix

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// SyncDir makes changes of a directory's names survive a crash of the machine, where the file system can do that and
// the user may read the directory.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, dir.Close())
}

// lock locks a file of this name, if no process has. It does not wait, follow a link or open a pipe.
func lock(name string) (*fileutil.LockedFile, error) {
	return fileutil.TryLockFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// protect locks a new part. It reports false if another process has removed the part or is about to: it holds the lock
// then. A file system without locks has no such process.
func (p *Part) protect() bool {
	held, err := lock(p.Name())
	if errors.Is(err, fileutil.ErrLocked) || errors.Is(err, os.ErrNotExist) {
		return false
	}
	if err != nil {
		return true
	}
	now, errNow := os.Lstat(p.Name())
	mine, errMine := held.Stat()
	if errNow != nil || errMine != nil || !os.SameFile(now, mine) {
		_ = held.Close()
		return false
	}
	p.lock = held.File
	return true
}

// removeDead removes the parts of a file that no process has locked. One that can't be removed does no harm.
func removeDead(file string) {
	dir, base := filepath.Split(file)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !isPartOf(entry.Name(), base) || !entry.Type().IsRegular() {
			continue
		}
		name := filepath.Join(dir, entry.Name())
		held, err := lock(name)
		if err != nil {
			continue
		}
		_ = os.Remove(name)
		_ = held.Close()
	}
}
