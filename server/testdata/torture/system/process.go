//go:build linux

package system

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is one run of a program, from its start to its end.
type Process struct {
	Name string
	cmd  *exec.Cmd
	// first is the first line on stdout: the program is ready.
	first chan string
	done  chan struct{}
	err   error

	// Disk is what it syncs its files to.
	Disk Disk

	mu sync.Mutex
	// peak is the most memory that it had when it was last looked at, in bytes.
	peak int64
}

// startProcess runs a program with its stderr at the end of a file.
func startProcess(name, log string, env []string, program string, args ...string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{Name: name, cmd: exec.Command(self, append([]string{program}, args...)...), first: make(chan string, 1), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), append(env, diskEnv+"=1")...)
	// Not the file itself: a process that may not write to files shall still say so.
	p.cmd.Stderr = struct{ io.Writer }{out}
	// A test that dies takes its processes along.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	p.cmd.ExtraFiles = []*os.File{theirs} // diskSocket
	err = p.cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_, _ = ours.Close(), out.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go p.Disk.serve(ours)
	go p.follow(stdout, out)
	return p, nil
}

func (p *Process) follow(stdout io.Reader, log io.Closer) {
	lines := bufio.NewReader(stdout)
	if line, err := lines.ReadString('\n'); err == nil {
		p.first <- strings.TrimSpace(line)
	}
	_, _ = io.Copy(io.Discard, lines)
	p.err = p.cmd.Wait()
	_ = log.Close()
	close(p.done)
}

// Ready waits for the line that says so.
func (p *Process) Ready(ctx context.Context) (string, error) {
	select {
	case line := <-p.first:
		return line, nil
	case <-p.done:
		return "", fmt.Errorf("%s ended at its start: %v", p.Name, p.err)
	case <-ctx.Done():
		return "", fmt.Errorf("%s is not ready: %w", p.Name, context.Cause(ctx))
	}
}

// Signal sends a signal. One that comes after the end is no error.
func (p *Process) Signal(s syscall.Signal) error {
	p.Look()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to %s: %w", s, p.Name, err)
	}
	return nil
}

// Wait waits for the end and says with which code.
func (p *Process) Wait(ctx context.Context) (code int, err error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%s does not end: %w", p.Name, context.Cause(ctx))
	}
}

// LimitFiles lets it write no file beyond a size, as if the disk were full.
func (p *Process) LimitFiles(size uint64) error {
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.PID(), unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		return fmt.Errorf("limit the files of %s: %w", p.Name, err)
	}
	return nil
}

// Ended is whether it has.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// PID is what the system calls it.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Look notes how much memory it had at most until now.
func (p *Process) Look() int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			p.peak = max(p.peak, kib<<10)
		}
	}
	return p.peak
}

// kill ends a process at once, whatever it is doing.
func (p *Process) kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.done
}

// stop asks a process to end, and says with which code it did.
func (p *Process) stop(s syscall.Signal, patience time.Duration) (code int, err error) {
	if err := p.Signal(s); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.Wait(ctx)
}
