package join

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a file, shared or alone, and waits for it. Closing the file unlocks it, and so does the end of the process.
func lock(f *os.File, alone bool) error {
	var how uint32
	if alone {
		how = windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{})
}
