package join

import (
	"os"

	"golang.org/x/sys/windows"
)

// alive says whether there is a process of that number.
func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false
	}
	_ = windows.CloseHandle(h)
	return true
}

// lock locks a file, shared or alone, and waits for it. Closing the file unlocks it, and so does the end of the
// process.
func lock(f *os.File, alone bool) error {
	var how uint32
	if alone {
		how = windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{})
}
