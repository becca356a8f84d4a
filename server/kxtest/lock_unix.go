//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package kxtest

import (
	"errors"
	"os"
	"syscall"
)

// lock locks an open file until it is closed, or its process ends. Without wait it returns false if another process has
// the lock.
func lock(f *os.File, wait bool) (bool, error) {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}
