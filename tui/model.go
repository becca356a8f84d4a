package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/cmdlog"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/learn"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
)

// frameEvery is the shortest interval between two drains of the screens.
const frameEvery = 33 * time.Millisecond

// model is the program. Its methods run on Bubble Tea's goroutine, one at a time.
type model struct {
	ctx     context.Context
	options Options
	out     io.Writer
	crash   *crash
	client  *api.Client
	server  Server // once it is known
	failed  error  // why it never will be

	terminal  *theme.Terminal
	theme     theme.Theme
	keptTheme theme.Name      // for the next run
	used      map[keys.ID]int // runs from the palette, by command

	changed chan struct{} // holds a signal when a screen has something to drain
	drained time.Time

	revisions  revisions
	returns    int // the server's returns that the screens know of
	commandLog *cmdlog.Log
	held       *control.Control // closed by the screen of breakpoints
	table      *keys.Table
	screens    map[screen.Name]screen.Screen
	order      []screen.Screen
	current    screen.Screen
	// lesson stands beside the current screen; it is nil without a lesson. onLesson reports whether it has the focus.
	lesson   *learn.Screen
	onLesson bool
	// path lists the screens that esc leads back to, the latest last.
	path []screen.Name

	w, h  int
	frame layout.Frame
	mouse bool

	overlay keys.Context // Palette, Help, Ask, Menu or Confirm; empty for none
	helpOf  keys.Context // the context of the listed keys
	typing  editor.Line  // the typed text of the palette
	chosen  pane.Scroll  // the row of the palette
	reading pane.View    // the window on help
	seeking editor.Line  // the text that narrows help
	asking  question
	offered menu

	note note
	// busy counts the commands that have not returned yet.
	busy int

	drawn string
	dirty bool
}

// note is a text that the line of state shows until the next key.
type note struct {
	text string
	bad  bool
}

// Messages that commands return.
type (
	frameMsg struct{}
	// connectedMsg carries the server, or the reason why there is none.
	connectedMsg struct {
		server Server
		err    error
	}
	// doneMsg ends the work of a screen; then handles its result.
	doneMsg   struct{ then func() tea.Cmd }
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

func newModel(ctx context.Context, o Options, t *theme.Terminal, out io.Writer, client *api.Client, c *crash) (*model, error) {
	kept, broken := readState(o.StateFile)
	m := &model{
		ctx: ctx, options: o, out: out, crash: c, client: client, changed: make(chan struct{}, 1),
		terminal: t, keptTheme: kept.Theme, theme: t.Theme(t.Choose(o.Theme, kept.Theme)),
		screens: map[screen.Name]screen.Screen{}, mouse: !kept.NoMouse, dirty: true,
	}
	m.commandLog = &cmdlog.Log{}
	client.Report(m.commandLog.Add)
	m.held = control.New(client, host{m}.Changed, host{m}.Guard)
	for _, maker := range makers {
		s := maker.make(host{m}, m)
		m.screens[s.Name()] = s
		m.order = append(m.order, s)
	}
	m.current = m.order[0]
	if o.Lesson != nil {
		m.lesson = learn.New(host{m}, *o.Lesson)
		m.screens[screen.Lesson] = m.lesson
		m.order = append(m.order, m.lesson)
		m.face(true)
	}
	var err error
	if m.table, err = m.keys(); err != nil {
		return nil, err
	}
	if o.Saved == nil { // the kept filter is not for this capture
		broken = errors.Join(broken, m.restore(kept))
	}
	if broken != nil {
		m.complain(m.theme.Words.Phrase("what an earlier run left can't be used: %s", broken.Error()))
	}
	return m, nil
}

// keys returns the table of all commands, with the user's own keys.
func (m *model) keys() (*keys.Table, error) {
	all := m.commands()
	own, err := readKeys(m.options.KeysFile)
	if err == nil {
		err = own.Apply(all)
	}
	var table *keys.Table
	if err == nil {
		table, err = keys.New(all)
	}
	if err != nil && len(own) > 0 || err != nil && table == nil && m.options.KeysFile != "" {
		return nil, fmt.Errorf("the keys of %s: %w", m.options.KeysFile, err)
	}
	return table, err
}

func readKeys(file string) (keys.Map, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return keys.Read(text)
}

func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.current.Show(nil), m.waitForChange()}
	if m.lesson != nil {
		cmds = append(cmds, m.lesson.Show(nil))
	}
	if m.mouse {
		cmds = append(cmds, tea.EnableMouseCellMotion)
	}
	if m.options.Saved == nil {
		m.busy++
		cmds = append(cmds, m.guardPanic(func() tea.Msg {
			s, err := m.options.Start(m.ctx)
			return connectedMsg{s, err}
		}))
	}
	return tea.Batch(cmds...)
}

// userAgent identifies this program where a server names the client of a request or a watch.
const userAgent = "kx-tui"

// takeServer takes over the server that was found or started.
func (m *model) takeServer(msg connectedMsg) tea.Cmd {
	err := msg.err
	if err == nil {
		m.server = msg.server
		config := rest.CopyConfig(msg.server.Config)
		config.UserAgent = userAgent
		err = m.client.Connect(config)
	}
	if err != nil {
		m.failed = err
		return tea.Quit
	}
	if note := m.server.Note; note != "" {
		m.say(note)
	}
	return m.drain() // the screens may say now where they wait for an answer
}

func (m *model) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = m // returned after a panic too
	defer m.crash.caught()
	m.crash.note(msg)
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyMsg:
		cmd = m.pressKeys(msg)
	case tea.MouseMsg:
		cmd = m.click(msg)
	case frameMsg:
		cmd = tea.Batch(m.drain(), m.waitForChange())
	case connectedMsg:
		m.busy--
		cmd = m.takeServer(msg)
	case revisionsMsg:
		if m.revisions.take(msg) {
			cmd = m.askRevisions()
		}
	case doneMsg:
		m.busy--
		if msg.then != nil {
			cmd = msg.then()
		}
	case copiedMsg:
		m.busy--
		m.takeCopy(msg)
	case editedMsg:
		cmd = msg.then(msg.text, msg.err)
	case crashedMsg:
		return m, tea.Quit
	default:
		return m, nil
	}
	m.place() // the message may have moved the border of a lesson
	m.dirty = true
	return m, cmd
}

// guardPanic runs a command so that a panic in it is caught.
func (m *model) guardPanic(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		msg = crashedMsg{} // returned if cmd panics
		defer m.crash.caught()
		return cmd()
	}
}

// waitForChange waits until a screen has something to drain, and until frameEvery has passed since the last drain.
func (m *model) waitForChange() tea.Cmd {
	drained := m.drained
	return m.guardPanic(func() tea.Msg {
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

// drain passes collected data to the screens.
func (m *model) drain() tea.Cmd {
	m.drained = time.Now()
	var cmds []tea.Cmd
	back := m.client.Recoveries() != m.returns
	m.returns = m.client.Recoveries()
	for _, s := range m.order {
		cmds = append(cmds, s.Drain())
		if r, ok := s.(screen.Retrier); ok && back {
			cmds = append(cmds, r.Retry())
		}
	}
	return tea.Batch(append(cmds, m.askRevisions())...)
}

func (m *model) resize(w, h int) {
	m.w, m.h = w, h
	m.place()
}

// place lays the terminal out and sets the sizes of the screens.
func (m *model) place() {
	frame := layout.Terminal(m.w, m.h)
	if m.lesson != nil {
		// A lesson leaves little room for the screen below it. So the screen takes all of it while it has the focus,
		// and the lesson takes all of it while the screen would give an answer away.
		alone := m.lesson.Zoomed() || m.w < layout.Beside && (!m.onLesson || m.lesson.Veiled())
		frame = frame.WithLesson(*m.lesson.Borders(), alone)
	}
	if frame == m.frame {
		return
	}
	m.frame = frame
	if frame.TooSmall {
		return
	}
	for _, s := range m.order {
		if s == screen.Screen(m.lesson) {
			s.SetSize(frame.Lesson.W, frame.Lesson.H)
		} else {
			s.SetSize(frame.Screen.W, frame.Screen.H)
		}
	}
}

// close stops the work that the screens started.
func (m *model) close() {
	for _, s := range m.order {
		s.Close()
	}
}
