//go:build unix

package join

import (
	"os"

	"golang.org/x/sys/unix"
)

// alive says whether there is a process of that number.
func alive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || err == unix.EPERM
}

// lock locks a file, shared or alone, and waits for it. Closing the file unlocks it, and so does the end of the
// process.
func lock(f *os.File, alone bool) error {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}
