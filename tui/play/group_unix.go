//go:build unix

package play

import (
	"os/exec"
	"syscall"
)

// inGroup puts a command and what it starts into a group of their own.
func inGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

func interruptGroup(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
