package tui

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/pane/detail"
	"github.com/kx-apiserver/kx/tui/pane/list"
	"github.com/kx-apiserver/kx/tui/pane/steps"
	"github.com/kx-apiserver/kx/tui/prompt"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/theme"
)

const (
	// ringCapacity is how many requests the screen remembers.
	ringCapacity = 10_000
	// frameEvery is how often the screen takes what the session collected, at most.
	frameEvery = 33 * time.Millisecond
)

// model is the screen. Its methods run on Bubble Tea's goroutine, one at a time.
type model struct {
	ctx     context.Context
	options Options
	theme   theme.Theme
	out     io.Writer
	crash   *crash

	session *session.Session
	ring    *session.Ring
	state   session.State
	drained time.Time

	table  *keys.Table
	list   *list.Pane
	steps  *steps.Pane
	detail *detail.Pane

	w, h   int
	screen layout.Screen
	focus  layout.Pane
	mode   layout.Mode

	overlay keys.Context // Filter, Palette or Help; empty for none
	helpOf  keys.Context // whose keys help lists
	typing  prompt.Line  // what is typed into the filter or the palette
	chosen  pane.Scroll  // the row of the palette
	reading pane.View    // the window on help
	applied string       // the filter that is followed

	open opened
	note note
	// busy is how many commands have not answered yet.
	busy int

	frame string
	dirty bool
}

// opened is the journey under the cursor, as far as it is fetched.
type opened struct {
	id      string
	request uint64 // counts the fetches: only the answer to the latest is taken
	cancel  context.CancelFunc
	journey *v1alpha1.Journey
}

// note is what the line of state says once.
type note struct {
	text string
	bad  bool
}

// Messages that commands bring.
type (
	frameMsg   struct{}
	fetchedMsg struct {
		request uint64
		journey *v1alpha1.Journey
		changed []int
		err     error
	}
	copiedMsg struct {
		text string
		err  error
	}
	crashedMsg struct{}
)

func newModel(ctx context.Context, o Options, t theme.Theme, out io.Writer, s *session.Session, c *crash) (*model, error) {
	ring := session.NewRing(ringCapacity)
	m := &model{
		ctx: ctx, options: o, theme: t, out: out, crash: c, session: s, ring: ring,
		list: list.New(ring, t, o.Zone), steps: steps.New(t), detail: detail.New(t),
		focus: layout.List, dirty: true,
	}
	m.open.cancel = func() {}
	table, err := keys.New(m.commands())
	if err != nil {
		return nil, err
	}
	m.table = table
	m.steps.Message("", " Here come the steps of a request:", " which code it went through, how long it took, and why it went that way.")
	m.detail.Message("", "Here comes what is known of one step.")
	m.list.SetEmpty(m.emptyList())
	return m, nil
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	m.session.Follow("")
	return m.waitForChange()
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer m.crash.caught()
	m.crash.note(msg)
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyMsg:
		cmd = m.pressed(msg)
	case frameMsg:
		cmd = tea.Batch(m.drain(), m.waitForChange())
	case fetchedMsg:
		m.busy--
		m.fetched(msg)
	case copiedMsg:
		m.busy--
		m.copied(msg)
	case crashedMsg:
		return m, tea.Quit
	default:
		return m, nil
	}
	m.dirty = true
	return m, cmd
}

// guarded runs a command so that a panic in it is caught.
func (m *model) guarded(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		msg = crashedMsg{} // what is returned if cmd panics
		defer m.crash.caught()
		return cmd()
	}
}

// waitForChange waits until the session has something new, and until the last frame is long enough ago.
func (m *model) waitForChange() tea.Cmd {
	drained := m.drained
	return m.guarded(func() tea.Msg {
		select {
		case <-m.session.Changed():
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

// drain takes what the session collected.
func (m *model) drain() tea.Cmd {
	m.drained = time.Now()
	batch := m.session.Drain()
	m.ring.Apply(batch)
	m.state = batch.State
	m.list.SetEmpty(m.emptyList())
	m.list.Sync()
	return m.sync()
}

// sync brings steps and detail to the request under the cursor.
func (m *model) sync() tea.Cmd {
	row := m.list.Selected()
	if row == nil {
		if m.open.id != "" {
			m.close()
		}
		return nil
	}
	ended := row.Status.Phase == v1alpha1.JourneyComplete && m.open.journey != nil && m.open.journey.Status.Phase == v1alpha1.JourneyRunning
	if row.Name == m.open.id && !ended {
		m.showStep()
		return nil
	}
	if row.Name != m.open.id && row.Status.Phase == v1alpha1.JourneyRunning {
		m.steps.Message("", " "+row.Name+" is running: its steps come when it ends, or in a second.")
		m.detail.Message()
	}
	return m.fetch(row.Name)
}

func (m *model) close() {
	m.open.cancel()
	m.open = opened{request: m.open.request + 1, cancel: func() {}}
	m.steps.Message()
	m.detail.Message()
}

// fetch gets a whole journey.
func (m *model) fetch(id string) tea.Cmd {
	m.open.cancel()
	ctx, cancel := context.WithCancel(m.ctx)
	request := m.open.request + 1
	kept := m.open.journey
	if id != m.open.id {
		kept = nil
	}
	m.open = opened{id: id, request: request, cancel: cancel, journey: kept}
	m.busy++
	return m.guarded(func() tea.Msg {
		j, err := m.session.Get(ctx, id)
		if err != nil {
			return fetchedMsg{request: request, err: err}
		}
		return fetchedMsg{request: request, journey: j, changed: steps.Changed(j)}
	})
}

func (m *model) fetched(msg fetchedMsg) {
	if msg.request != m.open.request {
		return // the cursor is elsewhere by now
	}
	m.open.cancel()
	if msg.err != nil {
		why := draw.Clean(m.open.id + ": " + msg.err.Error())
		m.steps.Message("", " "+why)
		m.detail.Message("", why)
		return
	}
	m.open.journey = msg.journey
	m.steps.Show(msg.journey, msg.changed)
	m.showStep()
}

// showStep brings detail to the step under the cursor.
func (m *model) showStep() {
	if j := m.open.journey; j != nil {
		m.detail.Show(j, m.steps.Selected(), sameAs(&j.Spec))
	}
}

// host is the address of the server.
func (m *model) host() string { return draw.Clean(m.options.Config.Host) }

func (m *model) emptyList() []string {
	switch {
	case m.state.Phase == session.Connecting:
		return []string{"  Connecting to " + m.host() + " ..."}
	case m.state.Phase == session.Retrying:
		return []string{"  No answer from " + m.host() + " yet; trying again."}
	case m.applied != "":
		return []string{"  No request that the server remembers matches the filter. esc shows all."}
	}
	kubectl := "kubectl create configmap demo"
	if m.options.Kubeconfig != "" {
		kubectl = "KUBECONFIG=" + draw.Clean(shellPath(m.options.Kubeconfig)) + " " + kubectl
	}
	return []string{"  No requests yet. Send one from another terminal:", "    " + kubectl}
}

// shellPath writes a path for a shell, shorter where it is in the user's home.
func shellPath(path string) string {
	if home, err := os.UserHomeDir(); err == nil {
		if rest, ok := strings.CutPrefix(path, home+"/"); ok && !strings.ContainsFunc(rest, special) {
			return "~/" + rest
		}
	}
	return line([]string{path})
}

func (m *model) resize(w, h int) {
	m.w, m.h = w, h
	m.relayout()
}

func (m *model) relayout() {
	m.screen = layout.Compute(m.w, m.h, m.mode)
	m.steps.Share(m.screen.Shared)
	m.detail.Share(m.screen.Shared)
	for id, p := range m.panes() {
		r := m.screen.Panes[id]
		p.SetSize(r.W, r.H)
	}
	m.list.Sync()
}

func (m *model) panes() map[layout.Pane]pane.Pane {
	return map[layout.Pane]pane.Pane{layout.List: m.list, layout.Steps: m.steps, layout.Detail: m.detail}
}
