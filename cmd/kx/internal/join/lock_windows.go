package join

import (
	"os"

	"golang.org/x/sys/windows"
)

// alive reports whether a process with this ID exists.
func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false
	}
	_ = windows.CloseHandle(h)
	return true
}

// lock waits for a shared or an exclusive lock on a file. The lock ends when the file is closed, or with the process.
func lock(f *os.File, alone bool) error {
	var how uint32
	if alone {
		how = windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{})
}
