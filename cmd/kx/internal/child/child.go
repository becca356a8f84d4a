package child

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Child is a running program.
type Child struct {
	cmd *exec.Cmd
	// grouped reports whether the program has a process group of its own.
	grouped bool
	done    chan struct{}
	err     error // the result of the program, set before done is closed
}

// Start starts the program of cmd, which gets the signals from then on, until it ends.
func Start(cmd *exec.Cmd, signals <-chan os.Signal) (*Child, error) {
	c := &Child{cmd: cmd, grouped: group(cmd), done: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	go func() {
		for {
			select {
			case sig := <-signals:
				c.pass(sig)
			case <-c.done:
				return
			}
		}
	}()
	return c, nil
}

// Done returns a channel that is closed when the program has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Kill ends the program at once.
func (c *Child) Kill() { _ = c.cmd.Process.Kill() } // it fails if the program has ended

// Wait waits for the end of the program. The error says what went wrong beside the program.
func (c *Child) Wait() (code int, err error) {
	<-c.done
	var exit *exec.ExitError
	switch {
	case c.err == nil:
		return 0, nil
	case !errors.As(c.err, &exit):
		return 1, c.err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return SignalExitCode(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// SignalExitCode returns the exit code of a program that a signal ended.
func SignalExitCode(sig os.Signal) int {
	if number, ok := sig.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return 1
}
