package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Options are what the screen is told.
type Options struct {
	// Config is how to reach the server.
	Config *rest.Config
	// Kubeconfig is the file that others reach it with; the screen names it to a newcomer.
	Kubeconfig string
	// InProcess says that the server ends with the screen.
	InProcess bool
	// Theme is how the screen looks.
	Theme theme.Name
	// Zone is where the times of day are of; nil for the zone of this machine.
	Zone *time.Location
	// CrashDir is where the stack of a panic is written.
	CrashDir string

	// Input and Output are the terminal; nil for the process's own.
	Input  io.Reader
	Output *os.File
}

// framesPerSecond bounds how often the terminal is written to.
const framesPerSecond = 30

// Run shows the screen until the user quits or ctx ends.
func Run(ctx context.Context, o Options) error {
	if o.Output == nil {
		o.Output = os.Stdout
	}
	terminal := &terminal{File: o.Output}
	look := theme.New(o.Theme, o.Output)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := newProgram(ctx, o, look, terminal)
	if err != nil {
		return err
	}
	options := []tea.ProgramOption{tea.WithAltScreen(), tea.WithContext(ctx), tea.WithFPS(framesPerSecond), tea.WithOutput(terminal)}
	if o.Input != nil {
		options = append(options, tea.WithInput(o.Input))
	}
	program := tea.NewProgram(p.model, options...)
	p.crash.onPanic = func() { go program.Quit() }
	_, err = program.Run()
	cause := context.Cause(ctx)
	cancel()
	p.close()
	switch {
	case p.crash.failure() != nil:
		return p.crash.failure()
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	case errors.Is(err, tea.ErrInterrupted) || cause != nil:
		return nil
	}
	return err
}

// program is a model and what must be closed after it.
type program struct {
	model *model
	crash *crash
}

func newProgram(ctx context.Context, o Options, look theme.Theme, out io.Writer) (*program, error) {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.CrashDir == "" {
		o.CrashDir = os.TempDir()
	}
	c := &crash{dir: o.CrashDir}
	if file := os.Getenv("KX_DEBUG"); file != "" {
		f, err := os.OpenFile(filepath.Clean(file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the file of KX_DEBUG: %w", err)
		}
		c.debug = f
	}
	s, err := session.New(o.Config, ringCapacity, c.caught)
	if err != nil {
		return nil, err
	}
	m, err := newModel(ctx, o, look, out, s, c)
	if err != nil {
		return nil, err
	}
	return &program{model: m, crash: c}, nil
}

func (p *program) close() {
	p.model.open.cancel()
	p.model.session.Close()
	if p.crash.debug != nil {
		p.crash.debug.Close()
	}
}

// terminal is the file of a terminal that is written to from more than one goroutine: frames, and text for the
// clipboard.
type terminal struct {
	*os.File
	mu sync.Mutex
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.File.Write(p)
}
