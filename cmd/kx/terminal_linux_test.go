package main

import (
	"io"
	"strings"
	"syscall"
	"testing"
)

// TestAsksNoTerminal runs a command on a terminal that answers nothing: it is not asked for its colours, so nobody waits.
func TestAsksNoTerminal(t *testing.T) {
	t.Parallel()
	master, slave := terminal(t)
	cmd := kx(t, "version")
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "CI=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // only the terminal's own are answered
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	said, _ := io.ReadAll(master) // a terminal that is left ends with an error
	if text := string(said); !strings.HasPrefix(text, "kx ") || strings.Contains(text, "\x1b") {
		t.Errorf("it wrote %q", text)
	}
}
