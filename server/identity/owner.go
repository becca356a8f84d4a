package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// ErrInUse is the error if another process owns a data directory.
var ErrInUse = errors.New("the data directory is in use by another kx")

// inUse is an ErrInUse that names the directory.
type inUse struct{ text string }

func (e *inUse) Error() string        { return e.text }
func (e *inUse) Is(target error) bool { return target == ErrInUse }

// Owner is the process that has, or had last, the lock of a data directory.
type Owner struct {
	PID     int
	Address string // empty until it serves
}

// ReadOwner reads the lock file of the data directory at path. The process in it may have ended.
func ReadOwner(path string) (Owner, error) {
	data, err := os.ReadFile(filepath.Join(path, LockName))
	if err != nil {
		return Owner{}, err
	}
	// The file is empty between truncation and writing, when the server does not serve yet.
	var o Owner
	_, _ = fmt.Sscanf(strings.TrimSpace(string(data)), "pid %d %s", &o.PID, &o.Address)
	return o, nil
}

// InUse reports whether a process has the lock of the data directory at path, and which one.
func InUse(path string) (Owner, bool) {
	lock, err := fileutil.TryLockFile(filepath.Join(path, LockName), os.O_RDWR|noFollow, 0o600)
	if err == nil {
		lock.Close()
	}
	if !errors.Is(err, fileutil.ErrLocked) {
		return Owner{}, false
	}
	owner, _ := ReadOwner(path) // the owner is only for the message
	return owner, true
}
