//go:build !unix

package play

import "os/exec"

func inGroup(*exec.Cmd) {}

func killGroup(c *exec.Cmd) error { return c.Process.Kill() }

func interruptGroup(c *exec.Cmd) error { return c.Process.Kill() }
