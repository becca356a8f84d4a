package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/tui/api"
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
}

// framesPerSecond bounds how often the terminal is written to.
const framesPerSecond = 30

// CheckTerminal says why this process has no terminal that the screen can be shown on.
func CheckTerminal() error {
	for _, f := range []*os.File{os.Stdin, os.Stdout} {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return fmt.Errorf("the screen needs a terminal, and %s is none: kx serve serves without one, and kubectl get journeys -w follows", f.Name())
		}
	}
	return nil
}

// Run shows the screen on the terminal of this process until the user quits or ctx ends.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	terminal := &terminal{File: os.Stdout}
	s, err := newScreen(ctx, o, theme.New(o.Theme, os.Stdout), terminal)
	if err != nil {
		return err
	}
	program := tea.NewProgram(s.model, tea.WithAltScreen(), tea.WithMouseCellMotion(), tea.WithContext(ctx), tea.WithFPS(framesPerSecond), tea.WithOutput(terminal))
	s.crash.onPanic = func() { go program.Quit() }
	_, err = program.Run()
	cause := context.Cause(ctx)
	cancel()
	failure := s.Close()
	switch {
	case failure != nil:
		return failure
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	case errors.Is(err, tea.ErrInterrupted) || cause != nil:
		return nil
	}
	return err
}

// Screen is the screen before anything runs it.
type Screen struct {
	model *model
	crash *crash
}

// New makes a screen for another program to run. What the user copies is written to out. The screen's commands end with
// ctx.
func New(ctx context.Context, o Options, out io.Writer) (*Screen, error) {
	return newScreen(ctx, o, theme.New(o.Theme, out), out)
}

func newScreen(ctx context.Context, o Options, look theme.Theme, out io.Writer) (*Screen, error) {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.CrashDir == "" {
		o.CrashDir = os.TempDir()
	}
	c := &crash{dir: o.CrashDir}
	if file := os.Getenv(debugVariable); file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the file of %s: %w", debugVariable, err)
		}
		c.debug = f
	}
	client, err := api.New(o.Config)
	if err != nil {
		return nil, err
	}
	m, err := newModel(ctx, o, look, out, client, c)
	if err != nil {
		return nil, err
	}
	return &Screen{model: m, crash: c}, nil
}

// debugVariable names a file to which every message is written.
const debugVariable = "KX_DEBUG"

// Model is what Bubble Tea runs.
func (s *Screen) Model() tea.Model { return s.model }

// Close ends what the screen started. Its error is that of a panic, if there was one.
func (s *Screen) Close() error {
	s.model.close()
	s.model.client.Close()
	if s.crash.debug != nil {
		s.crash.debug.Close()
	}
	return s.crash.failure()
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
