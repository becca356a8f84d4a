package play

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/api"
)

// Server is the lesson's server.
type Server interface {
	// Start starts the server on the data in dir, with additional flags of kx serve. After Stop it may be called
	// again with the same dir: the address stays.
	Start(ctx context.Context, dir string, flags []string) (Address, error)
	Stop(ctx context.Context) error
	// WriteSource makes dir a module with the source of kx that a server built on kx needs.
	WriteSource(dir string) error
}

// Address holds the ways to reach the server.
type Address struct {
	Config     *rest.Config
	Kubeconfig string
}

// Options configure a play.
type Options struct {
	Lesson *lesson.Lesson
	Server Server
	// Binary is the program behind the name kx in commands.
	Binary string
	// Env is added to the environment of commands.
	Env []string
	// Language is the learner's. Commands of kx that speak it do so.
	Language lang.Language
	// Output is called with the output of a run while it runs, by any goroutine; it may be nil. id is empty for
	// [Play.Shell].
	Output func(id, text string)
}

// Play is a lesson being played. mu guards runs and rules. Only one method runs at a time, except for Close: it locks
// mu to read the command of each span.
type Play struct {
	Options
	root    string // has everything of the lesson
	shell   string
	ports   []int // the lesson's ports
	env     []string
	address Address
	api     *api.Client
	direct  *http.Client
	// alive ends with Close.
	alive context.Context
	end   context.CancelCauseFunc

	mu   sync.Mutex
	runs map[string]*span
	// rules holds the paths of breakpoints and faults on the server, by run.
	rules map[string][]string
}

// span covers the requests since a run began.
type span struct {
	// mark is the newest journey from before the run; empty if there was none.
	mark    string
	command *command // the last command
}

// errClosed is the cause of an end by [Play.Close].
var errClosed = errors.New("the lesson was left")

// Begin makes the lesson's directory and starts its server. Non-nil flags replace the lesson's own.
func Begin(ctx context.Context, o Options, flags []string) (_ *Play, err error) {
	p := &Play{Options: o, runs: map[string]*span{}, rules: map[string][]string{}}
	p.alive, p.end = context.WithCancelCause(context.Background())
	if p.shell, err = exec.LookPath("sh"); err != nil {
		return nil, fmt.Errorf("look for sh, in which the lesson's commands run: %w; on Windows, play lessons in WSL", err)
	}
	if p.root, err = os.MkdirTemp("", "kx-learn-"); err != nil {
		return nil, fmt.Errorf("make the lesson's directory: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	for _, dir := range []string{p.bin(), p.home(), p.work(), p.temporary()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the lesson's directory: %w", err)
		}
	}
	if err := os.Symlink(o.Binary, filepath.Join(p.bin(), "kx")); err != nil {
		return nil, fmt.Errorf("let the lesson's commands find kx: %w", err)
	}
	if p.ports, err = freePorts(o.Lesson.Ports); err != nil {
		return nil, err
	}
	if flags == nil {
		flags = o.Lesson.Serve
	}
	if err := p.start(ctx, flags); err != nil {
		return nil, err
	}
	p.env, err = p.environment(ctx)
	return p, err
}

func (p *Play) bin() string       { return filepath.Join(p.root, "bin") }
func (p *Play) home() string      { return filepath.Join(p.root, "home") }
func (p *Play) temporary() string { return filepath.Join(p.root, "tmp") }
func (p *Play) source() string    { return filepath.Join(p.root, "source") }

// work returns the directory in which commands run.
func (p *Play) work() string { return filepath.Join(p.root, "work") }

// Address returns the address of the lesson's server.
func (p *Play) Address() Address { return p.address }

// start starts the server. It replaces the lesson's variables in the flags.
func (p *Play) start(ctx context.Context, flags []string) (err error) {
	expanded := make([]string, len(flags))
	for i, flag := range flags {
		expanded[i] = os.Expand(flag, func(name string) string {
			if value, ok := p.variable(name); ok {
				return value
			}
			return "$" + name
		})
	}
	if p.address, err = p.Server.Start(ctx, filepath.Join(p.root, "data"), expanded); err != nil {
		return fmt.Errorf("start the lesson's server: %w", err)
	}
	config := rest.CopyConfig(p.address.Config)
	config.Wrap(unseen)
	if p.api, err = api.New(config); err != nil {
		return err
	}
	p.direct, err = rest.HTTPClientFor(config)
	return err
}

// unseen keeps the requests of the lesson itself out of the journeys.
func unseen(next http.RoundTripper) http.RoundTripper { return &unseenTransport{next} }

type unseenTransport struct{ next http.RoundTripper }

func (t *unseenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Kx-Trace", "off")
	r.Header.Set("Kx-Hold", "off")
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper lets callers reach the transport to close idle connections.
func (t *unseenTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// stopWait limits the time that a server takes to stop.
const stopWait = time.Minute

// restart stops the server and starts it on the same data.
func (p *Play) restart(ctx context.Context, flags []string) error {
	p.api.Close()
	p.direct.CloseIdleConnections()
	stop, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	if err := p.Server.Stop(stop); err != nil {
		return fmt.Errorf("stop the lesson's server: %w", err)
	}
	p.mu.Lock()
	p.rules = map[string][]string{} // they ended with it
	for _, s := range p.runs {
		s.mark = "" // another process does not know the journeys of before
	}
	p.mu.Unlock()
	return p.start(ctx, flags)
}

// Close ends the running method, stops the server and removes the lesson's directory.
func (p *Play) Close() error {
	p.end(errClosed)
	p.mu.Lock()
	var commands []*command
	for _, s := range p.runs {
		if s.command != nil {
			commands = append(commands, s.command)
		}
	}
	p.mu.Unlock()
	for _, c := range commands {
		c.kill()
		<-c.done
	}
	if p.api != nil {
		p.api.Close()
		p.direct.CloseIdleConnections()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	err := p.Server.Stop(ctx)
	return errors.Join(err, os.RemoveAll(p.root))
}
