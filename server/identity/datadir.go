package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// DataDir is a directory that this process has locked.
type DataDir struct {
	Path string
	// Warnings lists other users' access to the directory.
	Warnings []string

	ephemeral bool
	lock      *fileutil.LockedFile
}

const (
	// LockName is the name of the lock file.
	LockName   = "kx.lock"
	lockBegins = "pid "
)

// OpenDataDir creates path if it is missing, and locks it. It fails if another process has locked it, or if other users
// could change its content.
func OpenDataDir(path string) (*DataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w; choose another with --data-dir", err)
	}
	d := &DataDir{Path: path}
	if err := d.secure(); err != nil {
		return nil, err
	}
	file := filepath.Join(path, LockName)
	lock, err := fileutil.TryLockFile(file, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, &inUse{fmt.Sprintf("%s is in use by another kx%s: stop it, or choose another --data-dir", path, owner(file))}
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w; choose another with --data-dir", notFollowed(file, err))
	}
	if err := checkLock(lock.File); err != nil {
		lock.Close()
		return nil, fmt.Errorf("lock the data directory: %w; or choose another with --data-dir", err)
	}
	d.lock = lock
	return d, d.SetOwner("")
}

// MakeEphemeral makes a temporary directory for [OpenEphemeral].
func MakeEphemeral() (string, error) {
	path, err := os.MkdirTemp("", "kx-")
	if err != nil {
		return "", fmt.Errorf("make a temporary data directory: %w", err)
	}
	return path, nil
}

// OpenEphemeral opens a directory that Close removes.
func OpenEphemeral(path string) (*DataDir, error) {
	d, err := OpenDataDir(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	d.ephemeral = true
	return d, nil
}

// SetOwner writes the owner into the lock file, for the error message of other processes.
func (d *DataDir) SetOwner(address string) error {
	text := fmt.Sprintf(lockBegins+"%d %s\n", os.Getpid(), address)
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("write the lock of %s: %w", d.Path, err)
	}
	if _, err := d.lock.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("write the lock of %s: %w", d.Path, err)
	}
	return nil
}

// owner returns the owner in the lock file, in brackets.
func owner(file string) string {
	data, err := os.ReadFile(file)
	if text := strings.TrimSpace(string(data)); err == nil && text != "" {
		return " (" + text + ")"
	}
	return ""
}

// File returns the path of a file in the directory.
func (d *DataDir) File(name string) string { return filepath.Join(d.Path, name) }

// KeptFiles returns the names of the files that make up the server's identity: for clients and tokens, a server on a
// copy of them is the same server. Every directory has the needed ones; the optional ones are created when they are
// first used.
func KeptFiles() (needed, optional []string) {
	return []string{authorityName + ".crt", authorityName + ".key"},
		[]string{proxyName + ".crt", proxyName + ".key", tokenKeyName, "kubeconfig"}
}

// WriteFile replaces a file of the directory. Only the owner can read it.
func (d *DataDir) WriteFile(name string, data []byte) error {
	return writeFile(d.File(name), data, 0o600)
}

// Close unlocks the directory, and removes it if it is ephemeral.
func (d *DataDir) Close() error {
	err := d.lock.Close()
	if d.ephemeral {
		err = errors.Join(err, os.RemoveAll(d.Path))
	}
	return err
}

// writeFile replaces a file atomically: a reader sees the old content or the new.
func writeFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
