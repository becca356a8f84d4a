package child

import (
	"os"
	"os/exec"
)

// group does nothing: a console sends interrupts to all of its processes.
func group(*exec.Cmd) bool { return false }

// pass passes a signal to the program, except interrupts, which the console has sent to both.
func (c *Child) pass(sig os.Signal) {
	if sig != os.Interrupt {
		_ = c.cmd.Process.Signal(sig)
	}
}
