package tui

import (
	"context"
	"io"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/prompt"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
)

// frameEvery is how often the screens take what they collected, at most.
const frameEvery = 33 * time.Millisecond

// model is the program. Its methods run on Bubble Tea's goroutine, one at a time.
type model struct {
	ctx     context.Context
	options Options
	theme   theme.Theme
	out     io.Writer
	crash   *crash
	client  *api.Client

	changed chan struct{} // holds a signal when a screen has something to drain
	drained time.Time

	table   *keys.Table
	screens map[screen.Name]screen.Screen
	order   []screen.Screen
	current screen.Screen
	// path are the screens that esc leads back to, the latest last.
	path []screen.Name

	w, h  int
	frame layout.Frame
	mouse bool

	overlay keys.Context // Palette, Help, Ask or Confirm; empty for none
	helpOf  keys.Context // whose keys help lists
	typing  prompt.Line  // what is typed into the palette
	chosen  pane.Scroll  // the row of the palette
	reading pane.View    // the window on help
	asking  question

	note note
	// busy is how many commands have not answered yet.
	busy int

	drawn string
	dirty bool
}

// note is what the line of state says once.
type note struct {
	text string
	bad  bool
}

// Messages that commands bring.
type (
	frameMsg struct{}
	// doneMsg is the answer of what a screen gave to Host.Do.
	doneMsg   struct{ answer tea.Msg }
	copiedMsg struct {
		text string
		cut  int
		err  error
	}
	editedMsg struct {
		text []byte
		err  error
		then func([]byte, error) tea.Cmd
	}
	crashedMsg struct{}
)

func newModel(ctx context.Context, o Options, t theme.Theme, out io.Writer, client *api.Client, c *crash) (*model, error) {
	m := &model{
		ctx: ctx, options: o, theme: t, out: out, crash: c, client: client, changed: make(chan struct{}, 1),
		screens: map[screen.Name]screen.Screen{}, mouse: true, dirty: true,
	}
	for _, make := range makers {
		s := make(host{m})
		m.screens[s.Name()] = s
		m.order = append(m.order, s)
	}
	m.current = m.order[0]
	table, err := keys.New(m.commands())
	if err != nil {
		return nil, err
	}
	m.table = table
	return m, nil
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.current.Show(nil), m.waitForChange())
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = m // what is returned after a panic too
	defer m.crash.caught()
	m.crash.note(msg)
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyMsg:
		cmd = m.pressed(msg)
	case tea.MouseMsg:
		cmd = m.clicked(msg)
	case frameMsg:
		cmd = tea.Batch(m.drain(), m.waitForChange())
	case doneMsg:
		m.busy--
		cmd = m.answered(msg.answer)
	case copiedMsg:
		m.busy--
		m.copied(msg)
	case editedMsg:
		m.busy--
		cmd = msg.then(msg.text, msg.err)
	case crashedMsg:
		return m, tea.Quit
	default:
		return m, nil
	}
	m.dirty = true
	return m, cmd
}

// answered gives the answer of a command to whichever screen it is for.
func (m *model) answered(answer tea.Msg) tea.Cmd {
	if answer == nil {
		return nil
	}
	var cmds []tea.Cmd
	for _, s := range m.order {
		cmds = append(cmds, s.Update(answer))
	}
	return tea.Batch(cmds...)
}

// guarded runs a command so that a panic in it is caught.
func (m *model) guarded(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		msg = crashedMsg{} // what is returned if cmd panics
		defer m.crash.caught()
		return cmd()
	}
}

// waitForChange waits until a screen has something to drain, and until the last time is long enough ago.
func (m *model) waitForChange() tea.Cmd {
	drained := m.drained
	return m.guarded(func() tea.Msg {
		select {
		case <-m.changed:
		case <-m.ctx.Done():
			return nil
		}
		select {
		case <-time.After(time.Until(drained.Add(frameEvery))):
		case <-m.ctx.Done():
			return nil
		}
		return frameMsg{}
	})
}

// drain lets the screens take what they collected.
func (m *model) drain() tea.Cmd {
	m.drained = time.Now()
	var cmds []tea.Cmd
	for _, s := range m.order {
		cmds = append(cmds, s.Drain())
	}
	return tea.Batch(cmds...)
}

func (m *model) resize(w, h int) {
	m.w, m.h = w, h
	m.frame = layout.Terminal(w, h)
	if m.frame.TooSmall {
		return
	}
	for _, s := range m.order {
		s.SetSize(m.frame.Screen.W, m.frame.Screen.H)
	}
}

// close ends what the screens started.
func (m *model) close() {
	for _, s := range m.order {
		s.Close()
	}
}
