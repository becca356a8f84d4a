package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// ErrInUse says that another process owns a data directory.
var ErrInUse = errors.New("the data directory is in use by another kx")

// inUse is ErrInUse with a message for one directory.
type inUse struct{ text string }

func (e *inUse) Error() string        { return e.text }
func (e *inUse) Is(target error) bool { return target == ErrInUse }

// Owner is the process that has the lock of a data directory, or had it last.
type Owner struct {
	PID     int
	Address string // empty as long as it does not serve yet
}

// ReadOwner reads the lock file of the data directory at path. The process in it may have ended.
func ReadOwner(path string) (Owner, error) {
	data, err := os.ReadFile(filepath.Join(path, LockName))
	if err != nil {
		return Owner{}, err
	}
	// The file is empty between truncation and writing, when nobody serves yet.
	var o Owner
	_, _ = fmt.Sscanf(strings.TrimSpace(string(data)), "pid %d %s", &o.PID, &o.Address)
	return o, nil
}

// InUse says whether a process has the lock of the data directory at path, and which.
func InUse(path string) (Owner, bool) {
	lock, err := fileutil.TryLockFile(filepath.Join(path, LockName), os.O_RDWR|noFollow, 0o600)
	if err == nil {
		lock.Close()
	}
	if !errors.Is(err, fileutil.ErrLocked) {
		return Owner{}, false
	}
	owner, _ := ReadOwner(path) // who it is helps, and is not needed
	return owner, true
}
