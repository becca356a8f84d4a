//go:build unix

package child

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group has the program start in a process group of its own, unless this process is in the foreground of a terminal:
// other groups can't read from it there, and get no interrupts of it.
func group(cmd *exec.Cmd) bool {
	if foreground() {
		return false
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return true
}

func foreground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false // the process has none
	}
	defer terminal.Close()
	leader, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && leader == unix.Getpgrp()
}

// pass passes a signal to the program. It fails if the program has ended.
func (c *Child) pass(sig os.Signal) {
	number, ok := sig.(syscall.Signal)
	switch {
	case ok && c.grouped:
		_ = unix.Kill(-c.cmd.Process.Pid, number)
	case sig != os.Interrupt: // the terminal has sent an interrupt to both
		_ = c.cmd.Process.Signal(sig)
	}
}
