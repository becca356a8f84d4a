//go:build unix

package join

import (
	"os"

	"golang.org/x/sys/unix"
)

// alive reports whether a process with this ID exists.
func alive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || err == unix.EPERM
}

// lock waits for a shared or an exclusive lock on a file. The lock ends when the file is closed, or with the process.
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
