package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/core/lang"
)

// outputMost limits the output that is kept of a command, in bytes from its beginning.
const outputMost = 64 << 10

// pipeWait limits the wait for output after a command ended: its children may still hold the pipe.
const pipeWait = time.Second

// command is a script that runs, or ran. mu guards the fields below it.
type command struct {
	cmd  *exec.Cmd
	done chan struct{} // closed at its end
	err  error         // the result of Wait; set before done is closed

	mu      sync.Mutex
	output  strings.Builder
	cut     bool
	stopped bool
	began   time.Time
	ended   time.Time
	tell    func(string)
}

// run starts a script in sh. limit bounds its duration; 0 runs it until the lesson is left.
func (p *Play) run(script string, limit time.Duration, tell func(string)) (*command, error) {
	if limit == 0 {
		limit = math.MaxInt64
	}
	ctx, cancel := context.WithTimeoutCause(p.alive, limit, fmt.Errorf("it took longer than %s", limit))
	c := &command{done: make(chan struct{}), began: time.Now(), tell: tell}
	c.cmd = exec.CommandContext(ctx, p.shell, "-e", "-c", script)
	c.cmd.Dir, c.cmd.Env = p.work(), p.env
	c.cmd.Stdout, c.cmd.Stderr = c, c // one pipe: the lines stay in their order
	c.cmd.WaitDelay = pipeWait
	inGroup(c.cmd)
	c.cmd.Cancel = func() error { return killGroup(c.cmd) }
	if err := c.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("run the lesson's commands in %s: %w", p.shell, err)
	}
	go func() {
		defer close(c.done)
		defer cancel()
		err := c.cmd.Wait()
		_ = killGroup(c.cmd) // background processes of the script
		if cause := context.Cause(ctx); cause != nil && err != nil {
			err = cause
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err, c.ended = err, time.Now()
	}()
	return c, nil
}

// Write stores output.
func (c *command) Write(data []byte) (int, error) {
	c.mu.Lock()
	text := string(data)
	if room := outputMost - c.output.Len(); len(text) > room {
		text, c.cut = text[:max(room, 0)], true
	}
	c.output.WriteString(text)
	c.mu.Unlock()
	if c.tell != nil && text != "" {
		c.tell(text)
	}
	return len(data), nil
}

// stop interrupts the command.
func (c *command) stop() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	_ = interruptGroup(c.cmd)
}

func (c *command) kill() { _ = killGroup(c.cmd) }

// outcome returns the outcome so far.
func (c *command) outcome() Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := Outcome{Output: c.output.String(), Took: c.ended.Sub(c.began)}
	if c.cut {
		o.Output += fmt.Sprintf("\n… more than %d KiB\n", outputMost>>10)
	}
	if c.ended.IsZero() {
		o.Running, o.Took = true, time.Since(c.began)
		return o
	}
	o.Exit = c.cmd.ProcessState.ExitCode()
	return o
}

// failure returns the reason why the command did not end as required; nil if it did.
func (c *command) failure(fails bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var exit *exec.ExitError
	switch {
	case c.stopped:
		return nil
	case c.err != nil && !errors.As(c.err, &exit) && !errors.Is(c.err, exec.ErrWaitDelay):
		return c.err
	case exit != nil && !fails:
		return fmt.Errorf("it exited with %d, and 0 was expected", exit.ExitCode())
	case exit == nil && fails:
		return errors.New("it exited with 0, and was expected to fail")
	}
	return nil
}

// inherited lists the variables that commands inherit from the learner.
var inherited = []string{"PATH", "USER", "LOGNAME", "SYSTEMROOT"}

// ofGo lists those for Go's tools, if the lesson needs Go.
var ofGo = []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOPRIVATE", "GONOPROXY",
	"GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN"}

// environment returns the environment of the lesson's commands.
func (p *Play) environment(ctx context.Context) ([]string, error) {
	set := map[string]string{
		"HOME": p.home(), "KUBECONFIG": p.address.Kubeconfig, "TMPDIR": p.temporary(), "PWD": p.work(),
		"LC_ALL": "C", "TERM": "dumb", "NO_COLOR": "1", "KUBECACHEDIR": filepath.Join(p.home(), "cache"),
	}
	if p.Language != lang.English { // kubectl's own texts stay English: it knows no locale of this name
		delete(set, "LC_ALL")
		set["LANG"], set["LC_MESSAGES"] = "C", p.Language.String()
	}
	for i, port := range p.ports {
		set[portVariable(i)] = strconv.Itoa(port)
	}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			set[name] = value
		}
	}
	set["PATH"] = p.bin() + string(filepath.ListSeparator) + set["PATH"]
	if p.offers("go") {
		out, err := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, ofGo...)...).Output()
		if err != nil {
			return nil, fmt.Errorf("ask go for its settings, since the lesson needs Go: %w", err)
		}
		values := map[string]string{}
		if err := json.Unmarshal(out, &values); err != nil {
			return nil, fmt.Errorf("read what go env says: %w", err)
		}
		for name, value := range values {
			if value != "" {
				set[name] = value
			}
		}
		if set["KX_SOURCE"] = checkout(); set["KX_SOURCE"] == "" {
			set["KX_SOURCE"] = p.source()
			// The binary does not hold the checksums of modules' go.mod files: Go looks them up.
			set["GOFLAGS"] = strings.TrimSpace(set["GOFLAGS"] + " -mod=mod")
			if err := p.Server.WriteSource(p.source()); err != nil {
				return nil, fmt.Errorf("write the source of kx, since the lesson builds a program of it: %w", err)
			}
		}
	}
	env := make([]string, 0, len(set)+len(p.Env))
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	return append(env, p.Env...), nil
}

// offers reports whether a run of the lesson needs something that the machine has.
func (p *Play) offers(need string) bool {
	return slices.Contains(p.Lesson.AllNeeds(), need) && Lacks([]string{need}) == ""
}

var module = regexp.MustCompile(`(?m)^module github\.com/kx-apiserver/kx$`)

// checkout returns the root of a checkout of kx, at the learner's directory or above; empty if there is none. Go's
// build cache has most of a checkout already, and nothing of a new copy.
func checkout() string {
	dir, err := os.Getwd()
	for err == nil {
		if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && module.Match(data) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return ""
}

// tools lists the programs that lessons with the need "tools" may use.
var tools = []string{"sed", "grep", "awk", "cat", "head", "base64", "sleep"}

// Lacks returns the first of the needs that this machine does not meet; empty if it meets all.
func Lacks(needs []string) string {
	for _, need := range needs {
		switch need {
		case "tools":
			for _, tool := range tools {
				if _, err := exec.LookPath(tool); err != nil {
					return tool
				}
			}
		case "go":
			if _, err := exec.LookPath("go"); err != nil {
				return "Go"
			}
		}
	}
	return ""
}
