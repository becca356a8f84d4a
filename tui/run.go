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
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/capture"
	"github.com/kx-apiserver/kx/tui/learn"
	"github.com/kx-apiserver/kx/tui/logs"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Options configure one run of the program.
type Options struct {
	// Start finds the server, or starts it, while the program already draws.
	Start func(context.Context) (Server, error)
	// Saved is a capture to show instead of a server.
	Saved *Capture

	// Export writes requests as a document: a page, Markdown, a drawing. It may be nil.
	Export func(out io.Writer, e *capture.Export) error

	// Lesson is played beside the screen. It may be nil.
	Lesson *learn.Options

	// Reasons lists the reasons of this version of kx. Filters can ask for them, and they have the sentences that
	// servers and captures of earlier versions lack.
	Reasons trace.Catalogue

	// Theme overrides the kept theme for this run; it may be empty.
	Theme theme.Name
	// Skin holds the colours of the theme Own. It may be nil.
	Skin *theme.Skin
	// Language is the language of all words except the server's.
	Language lang.Language
	// Zone is the time zone of displayed times; nil means the zone of this machine.
	Zone *time.Location
	// KeysFile holds the user's own keys. The file may be missing.
	KeysFile string
	// StateFile keeps state from one run to the next; empty keeps nothing.
	StateFile string
	// CrashDir is the directory for the stack of a panic.
	CrashDir string
	// Log is the tail of this process's log.
	Log *logs.Tail
}

// Server describes a server that the program shows.
type Server struct {
	Config *rest.Config
	// Kubeconfig is the file with which other programs reach the server. The screen names it to new users.
	Kubeconfig string
	// Context is the context in it, if it is not the current one.
	Context string
	// InProcess reports that the server ends with the screen.
	InProcess bool
	// Note is a notice for the user, shown once the server is ready.
	Note string
}

// Capture is a capture that was read from a file.
type Capture struct {
	File     string
	Journeys []*v1alpha1.Journey
	// Dropped counts the older journeys of the file that do not fit into SavedMost.
	Dropped int
}

// SavedMost limits how many journeys of a capture are shown.
const SavedMost = 10_000

// framesPerSecond bounds the rate of writes to the terminal.
const framesPerSecond = 30

// CheckTerminal returns an error if this process has no terminal for the screen.
func CheckTerminal() error {
	for _, f := range []*os.File{os.Stdin, os.Stdout} {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return fmt.Errorf(
				"the screen needs a terminal, and %s is none: kx serve serves without one, and kubectl get journeys -w follows", f.Name())
		}
	}
	return nil
}

// Run shows the screen on the terminal of this process until the user quits or ctx ends.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	terminal := &terminal{File: os.Stdout}
	s, err := newScreen(ctx, o, theme.DetectTerminal(os.Stdout), terminal)
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

// Screen is the program before it runs.
type Screen struct {
	model *model
	crash *crash
}

// New makes a program for the caller to run. Copied text is written to out. The program's commands end with ctx.
func New(ctx context.Context, o Options, out io.Writer) (*Screen, error) {
	return newScreen(ctx, o, theme.DetectTerminal(out), out)
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
	t.Words, t.Skin = o.Language, o.Skin
	c := &crash{dir: o.CrashDir}
	if file := os.Getenv(debugVariable); file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the file of %s: %w", debugVariable, err)
		}
		c.debug = f
	}
	client := api.NewPending()
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

// Model returns the model for Bubble Tea to run.
func (s *Screen) Model() tea.Model { return s.model }

// Close stops all work of the program and saves state for the next run. It returns the error of a panic, of a server
// that failed to start, or of the save.
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

// terminal is a terminal that several goroutines write to: frames, and text for the clipboard. mu keeps a write
// whole.
type terminal struct {
	*os.File
	mu sync.Mutex
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.File.Write(p)
}
