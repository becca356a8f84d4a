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

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/capture"
	"github.com/kx-apiserver/kx/tui/learn"
	"github.com/kx-apiserver/kx/tui/logs"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Options are what the program is told.
type Options struct {
	// Start finds the server, or starts it, while the screen is drawn already.
	Start func(context.Context) (Server, error)
	// Saved is a capture to look at in place of a server.
	Saved *Saved

	// Export writes requests as a document: a page, Markdown, a drawing. It may be nil.
	Export func(out io.Writer, e *capture.Export) error

	// Lesson is played beside the screen. It may be nil.
	Lesson *learn.Options

	// Theme is how the screen looks, if that was said for this run.
	Theme theme.Name
	// Language is that of all words which are not the server's.
	Language lang.Language
	// Zone is where the times of day are of; nil for the zone of this machine.
	Zone *time.Location
	// KeysFile says which keys commands have. It need not be there.
	KeysFile string
	// StateFile is where what one run leaves to the next is kept; empty to keep nothing.
	StateFile string
	// CrashDir is where the stack of a panic is written.
	CrashDir string
	// Log is what the process logs.
	Log *logs.Tail
}

// Server is what there is to know of a server.
type Server struct {
	Config *rest.Config
	// Kubeconfig is the file that others reach it with; the screen names it to a newcomer.
	Kubeconfig string
	// InProcess says that the server ends with the screen.
	InProcess bool
	// Note is what the user should know of it, once it is there.
	Note string
}

// Saved is a capture that was read from a file.
type Saved struct {
	File     string
	Journeys []*v1alpha1.Journey
	// Dropped is how many older ones the file had, beyond what the screen can hold.
	Dropped int
}

// SavedMost is how many journeys of a capture can be shown.
const SavedMost = 10_000

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
	s, err := newScreen(ctx, o, theme.For(os.Stdout), terminal)
	if err != nil {
		return err
	}
	program := tea.NewProgram(s.model, tea.WithAltScreen(), tea.WithContext(ctx), tea.WithFPS(framesPerSecond), tea.WithOutput(terminal))
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

// Screen is the program before anything runs it.
type Screen struct {
	model *model
	crash *crash
}

// New makes a program for another to run. What the user copies is written to out. Its commands end with ctx.
func New(ctx context.Context, o Options, out io.Writer) (*Screen, error) {
	return newScreen(ctx, o, theme.For(out), out)
}

func newScreen(ctx context.Context, o Options, t *theme.Terminal, out io.Writer) (*Screen, error) {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.CrashDir == "" {
		o.CrashDir = os.TempDir()
	}
	if o.Log == nil {
		o.Log = &logs.Tail{}
	}
	t.Words = o.Language
	c := &crash{dir: o.CrashDir}
	if file := os.Getenv(debugVariable); file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the file of %s: %w", debugVariable, err)
		}
		c.debug = f
	}
	client := api.Later()
	if o.Saved != nil {
		client = api.Absent("this is a saved capture: there is no server")
	}
	m, err := newModel(ctx, o, t, out, client, c)
	if err != nil {
		return nil, err
	}
	return &Screen{model: m, crash: c}, nil
}

// debugVariable names a file to which every message is written.
const debugVariable = "KX_DEBUG"

// Model is what Bubble Tea runs.
func (s *Screen) Model() tea.Model { return s.model }

// Close ends what the program started, and keeps what the next run shall know. Its error is that of a panic, or why there
// was no server, or why nothing could be kept.
func (s *Screen) Close() error {
	kept := s.model.keep()
	s.model.close()
	s.model.client.Close()
	if s.crash.debug != nil {
		s.crash.debug.Close()
	}
	if err := s.crash.failure(); err != nil {
		return err
	}
	return errors.Join(s.model.failed, kept)
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
