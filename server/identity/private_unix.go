//go:build unix

package identity

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

func permissions(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() }

// links returns the number of a file's hard links.
func links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// checkOwner refuses a file of another user, who could change it at any time. The superuser is allowed.
func checkOwner(what string, info fs.FileInfo, flag string) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if me := os.Geteuid(); ok && stat.Uid != 0 && int(stat.Uid) != me {
		return fmt.Errorf("%s belongs to user %d, and this is user %d: run kx as its owner, or choose another with %s", what,
			stat.Uid, me, flag)
	}
	return nil
}
