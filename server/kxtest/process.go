package kxtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
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

// serve runs kx serve --ephemeral with flags until ctx ends, with its data in dir.
type serve func(ctx context.Context, dir string, flags []string, out, log io.Writer) error

// process is a running kx: a process of its own, or a part of this one.
type process struct {
	// serve serves in this process; nil if kx runs in another one.
	serve serve
	// path is the binary of a process of its own.
	path string
	// stop asks for an orderly end. The server of a process of its own also gets it by the end of this process.
	stop func()
	// kill ends it at once, and returns when it has ended; nil in this process, where that can't be done.
	kill func()

	dir   *directory
	users *authority
	log   *tail
	done  chan struct{} // closed when it has ended
	ended error         // how, if not in good order; for those who have seen done closed
	admin *rest.Config
	// kubeconfig is the administrator's.
	kubeconfig string
}

// launch starts kx and waits until it is ready. users signs the certificates of users. Without here it is a process of
// its own.
func launch(flags []string, users *authority, here serve) (_ *process, err error) {
	path := ""
	if here == nil {
		if path, err = binary(); err != nil {
			return nil, err
		}
	}
	dir, err := newDirectory()
	if err != nil {
		return nil, err
	}
	p := &process{serve: here, path: path, dir: dir, users: users, log: &tail{}, kubeconfig: dir.file("kubeconfig")}
	if err := os.WriteFile(dir.file("users.crt"), users.pem, 0o600); err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	if err := p.start(append([]string{"--listen=127.0.0.1:0"}, flags...)); err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	if p.admin, err = clientcmd.BuildConfigFromFlags("", p.kubeconfig); err != nil {
		p.end(stopMost)
		return nil, errors.Join(fmt.Errorf("read the kubeconfig of the server: %w", err), dir.remove())
	}
	// Tests are in a hurry: the limits of client-go are there for servers that others use too.
	p.admin.QPS, p.admin.Burst = 1000, 2000
	return p, nil
}

// serving is the line that kx prints when it is ready.
var serving = regexp.MustCompile(`^kx: serving (\S+)`)

// start starts kx and waits for the line that says that it serves.
func (p *process) start(flags []string) error {
	flags = append([]string{
		"--allow-faults", "--allow-breakpoints", "--kubeconfig-out=" + p.kubeconfig,
		"--client-ca-file=" + p.dir.file("users.crt"), fmt.Sprintf("--max-journeys=%d", journeysMost),
	}, flags...)
	p.done, p.ended = make(chan struct{}), nil
	var out io.ReadCloser
	if p.serve != nil {
		out = p.startHere(flags)
	} else {
		var err error
		if out, err = p.startBinary(flags); err != nil {
			return err
		}
	}
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
		if line != "" {
			p.end(0)
			return p.unfit(fmt.Sprintf("printed %q, and not the line of kx that is ready", line))
		}
		p.end(stopMost)
		return p.unfit("ended: " + lastLines(p.log.text(), 1))
	case <-time.After(readyMost):
		p.end(0)
		return p.unfit(fmt.Sprintf("is not ready after %v: %s", readyMost, lastLines(p.log.text(), 1)))
	}
}

// startHere starts kx in this process, and returns what it prints.
func (p *process) startHere(flags []string) io.ReadCloser {
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	p.stop = cancel
	done := p.done
	go func() {
		defer cancel()
		if p.ended = p.serve(ctx, p.dir.path, flags, in, p.log); p.ended != nil {
			fmt.Fprintf(p.log, "kx: %v\n", p.ended) // as the command does
		}
		in.Close()
		close(done)
	}()
	return out
}

// startBinary starts a process of its own, and returns what it prints.
func (p *process) startBinary(flags []string) (io.ReadCloser, error) {
	cmd := exec.Command(p.path, append([]string{"serve", "--ephemeral", "--until-stdin-ends"}, flags...)...)
	// Its own directory goes with ours, also if it is killed.
	cmd.Env = append(os.Environ(), "TMPDIR="+p.dir.path, "TMP="+p.dir.path, "TEMP="+p.dir.path)
	cmd.Stderr = p.log
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of our own: that of StdoutPipe is closed by Wait, which may come before the line is read.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = in
	err = cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("start kx: %w", err)
	}
	done := p.done
	p.stop = func() { stdin.Close() }
	p.kill = func() {
		_ = cmd.Process.Kill() // it has ended, or does now
		<-done
		stdin.Close()
	}
	go func() {
		_ = cmd.Wait()
		if !cmd.ProcessState.Success() {
			p.ended = errors.New(cmd.ProcessState.String())
		}
		close(done)
	}()
	return out, nil
}

// end asks the server to stop, and kills it if it does not in time. It reports whether that was not needed.
func (p *process) end(most time.Duration) bool {
	p.stop()
	select {
	case <-p.done:
		return true
	case <-time.After(most):
	}
	if p.kill != nil {
		p.kill()
	}
	return false
}

// unfit is the error of a server that does not start.
func (p *process) unfit(what string) error {
	if p.serve != nil {
		return fmt.Errorf("kx serve in this process %s", what)
	}
	return unfit(p.path, version(), what)
}

// data returns the data directory, which the server made in ours.
func (p *process) data() (string, error) {
	found, err := fs.Glob(os.DirFS(p.dir.path), "kx-*/serving.json")
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the directory of the server is not in %s", p.dir.path)
	}
	return filepath.Dir(p.dir.file(found[0])), nil
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
