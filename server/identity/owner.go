package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrInUse says that another process owns a data directory.
var ErrInUse = errors.New("the data directory is in use by another kx")

// inUse is ErrInUse in words for one directory.
type inUse struct{ text string }

func (e *inUse) Error() string        { return e.text }
func (e *inUse) Is(target error) bool { return target == ErrInUse }

// Owner is what the lock of a data directory says of the process that has it, or had it last.
type Owner struct {
	PID     int
	Address string // empty as long as it does not serve yet
}

// ReadOwner reads the lock of the data directory at path. Whether that process still runs must be found out by asking it.
func ReadOwner(path string) (Owner, error) {
	data, err := os.ReadFile(filepath.Join(path, lockName))
	if err != nil {
		return Owner{}, err
	}
	// Between truncating and writing it is empty: then nobody serves yet.
	var o Owner
	_, _ = fmt.Sscanf(strings.TrimSpace(string(data)), "pid %d %s", &o.PID, &o.Address)
	return o, nil
}
