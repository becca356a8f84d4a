package kxtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// readyMost limits the wait for a server to be ready: a machine that is busy is slow.
	readyMost = time.Minute
	// stopMost limits the wait for a server's orderly stop.
	stopMost = 15 * time.Second
	// journeysMost limits the requests that a server remembers.
	journeysMost = 4096
)

// process is a running kx.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer // the server stops when it is closed, by this process or by its end
	dir   *directory
	users *authority
	log   *tail
	done  chan struct{} // closed when the process has ended
	admin *rest.Config
	// kubeconfig is the administrator's.
	kubeconfig string
}

// launch starts kx and waits until it is ready.
func launch(flags []string) (_ *process, err error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	users, err := newAuthority("kxtest")
	if err != nil {
		return nil, err
	}
	dir, err := newDirectory()
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, users: users, log: &tail{}, done: make(chan struct{}), kubeconfig: dir.file("kubeconfig")}
	if err := os.WriteFile(dir.file("users.crt"), users.pem, 0o600); err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	p.cmd = exec.Command(path, append([]string{
		"serve", "--ephemeral", "--until-stdin-ends", "--listen=127.0.0.1:0", "--allow-faults", "--allow-breakpoints",
		"--kubeconfig-out=" + p.kubeconfig, "--client-ca-file=" + dir.file("users.crt"), fmt.Sprintf("--max-journeys=%d", journeysMost),
	}, flags...)...)
	// Its own directory goes with ours, also if it is killed.
	p.cmd.Env = append(os.Environ(), "TMPDIR="+dir.path, "TMP="+dir.path, "TEMP="+dir.path)
	p.cmd.Stderr = p.log
	p.cmd.WaitDelay = time.Second
	if err := p.start(); err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	if p.admin, err = clientcmd.BuildConfigFromFlags("", p.kubeconfig); err != nil {
		p.kill()
		return nil, errors.Join(fmt.Errorf("read the kubeconfig of the server: %w", err), dir.remove())
	}
	// Tests are in a hurry: the limits of client-go are there for servers that others use too.
	p.admin.QPS, p.admin.Burst = 1000, 2000
	return p, nil
}

// serving is the line that kx prints when it is ready.
var serving = regexp.MustCompile(`^kx: serving (\S+)`)

// start starts the process and waits for the line that says that it serves.
func (p *process) start() error {
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	p.stdin = stdin
	// A pipe of our own: that of StdoutPipe is closed by Wait, which may come before the line is read.
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	p.cmd.Stdout = in
	err = p.cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return fmt.Errorf("start kx: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // the state says how it ended
		close(p.done)
	}()
	first := make(chan string, 1)
	go func() {
		defer out.Close()
		lines := bufio.NewScanner(out)
		lines.Scan()
		first <- lines.Text()
		_, _ = io.Copy(io.Discard, out) // so that the server can always write
	}()
	select {
	case line := <-first:
		if serving.MatchString(line) {
			return nil
		}
		if line != "" || !p.end(stopMost) {
			p.kill()
		}
		if line != "" {
			return unfit(p.cmd.Path, version(), fmt.Sprintf("printed %q, and not the line of kx that is ready", line))
		}
		return unfit(p.cmd.Path, version(), "ended: "+lastLines(p.log.text(), 1))
	case <-time.After(readyMost):
		p.kill()
		return unfit(p.cmd.Path, version(), fmt.Sprintf("is not ready after %v: %s", readyMost, lastLines(p.log.text(), 1)))
	}
}

// end asks the process to stop, and reports whether it did in time.
func (p *process) end(most time.Duration) bool {
	p.stdin.Close()
	select {
	case <-p.done:
		return true
	case <-time.After(most):
		return false
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it has ended, or does now
	<-p.done
}

// tailMost limits the part of a server's log that is kept.
const tailMost = 256 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailMost; over > 0 {
		t.kept, t.cut = append([]byte(nil), t.kept[over:]...), true
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.kept))
	if t.cut {
		return "…" + text
	}
	return text
}
