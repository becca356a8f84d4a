package capture

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/pane/detail"
	"github.com/kx-apiserver/kx/tui/pane/list"
	"github.com/kx-apiserver/kx/tui/pane/steps"
	"github.com/kx-apiserver/kx/tui/prompt"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/sources"
	"github.com/kx-apiserver/kx/tui/theme"
)

// ringCapacity is how many requests the screen remembers.
const ringCapacity = 10_000

// Screen is the screen Capture. Its methods are called by one goroutine.
type Screen struct {
	host    screen.Host
	options Options
	session *session.Session
	started bool
	ring    *session.Ring
	state   session.State

	list   *list.Pane
	steps  *steps.Pane
	detail *detail.Pane
	look   theme.Name // what the panes look like

	w, h  int
	areas layout.Capture
	focus layout.Pane
	mode  layout.Mode

	filtering bool        // the filter is typed
	typing    prompt.Line // what of it there is
	applied   string      // the filter that is followed

	open    opened
	held    *control.Control
	telling telling
	alike   alike
	hidden  hidden

	sources  *sources.Library
	watching watching // the watch cache that Detail is given
	found    string   // what was looked for last
	// lastMarked is the request that others are compared with.
	lastMarked string

	want screen.ToRequest // where the user was led, as long as it is not there
}

var (
	_ screen.Screen   = (*Screen)(nil)
	_ screen.Resizer  = (*Screen)(nil)
	_ screen.Returner = (*Screen)(nil)
)

// Options are what else the screen is told.
type Options struct {
	// Saved are the requests of a capture, to look at in place of a server. Dropped is how many older ones it had.
	Saved   []*v1alpha1.Journey
	Dropped int
	// Own says whether the server is this program's own: a demo is offered for it.
	Own func() bool
}

// New makes the screen. It follows the server once it is shown.
func New(host screen.Host, held *control.Control, o Options) *Screen {
	ring, look := session.NewRing(ringCapacity), host.Theme()
	ring.Dropped = uint64(o.Dropped)
	s := &Screen{
		host: host, options: o, session: of(host, o), ring: ring,
		list: list.New(ring, look, host.Zone()), steps: steps.New(look), detail: detail.New(look), look: look.Name,
		focus: layout.List, held: held, sources: sources.New(host),
	}
	s.open.cancel = func() {}
	s.steps.Message("", " Here come the steps of a request:", " which code it went through, how long it took, and why it went that way.")
	s.detail.Message("", "Here comes what is known of one step.")
	s.list.SetEmpty(s.emptyList())
	return s
}

// of is the session with the server, or with what was saved.
func of(host screen.Host, o Options) *session.Session {
	if host.API().Absent() != "" {
		return session.Saved(o.Saved, host.Changed, host.Guard)
	}
	return session.Of(host.API(), ringCapacity, host.Changed, host.Guard)
}

// Name implements screen.Screen.
func (s *Screen) Name() screen.Name { return screen.Capture }

// panes are in the order in which tab goes through them.
func (s *Screen) panes() []place {
	return []place{{layout.List, keys.List, s.list}, {layout.Steps, keys.Steps, s.steps}, {layout.Detail, keys.Detail, s.detail}}
}

// place is a pane, with its names.
type place struct {
	id      layout.Pane
	context keys.Context
	pane    pane.Pane
}

// Contexts implements screen.Screen.
func (s *Screen) Contexts() []keys.Context {
	return []keys.Context{keys.List, keys.Steps, keys.Detail, keys.Filter}
}

// Context implements screen.Screen.
func (s *Screen) Context() keys.Context {
	if s.filtering {
		return keys.Filter
	}
	return s.Contexts()[s.focus-1]
}

// Focus implements screen.Screen.
func (s *Screen) Focus(ctx keys.Context) bool {
	for _, p := range s.panes() {
		if p.context == ctx {
			s.filtering = false
			s.goTo(p.id)
			return true
		}
	}
	if ctx == keys.Filter {
		s.edit()
	}
	return ctx == keys.Filter
}

// Show implements screen.Screen.
func (s *Screen) Show(to screen.Target) tea.Cmd {
	if !s.started {
		s.started = true
		s.held.Start()
		s.session.Follow(s.applied)
	}
	switch to := to.(type) {
	case screen.ToRequest:
		s.want = to
		return s.lead()
	case screen.ToRequests:
		s.filtering = false
		s.goTo(layout.List)
		s.follow(to.Filter)
	}
	return nil
}

// Hide implements screen.Screen.
func (s *Screen) Hide() {}

// Close implements screen.Screen.
func (s *Screen) Close() {
	s.open.cancel()
	s.session.Close()
}

// Drain implements screen.Screen.
func (s *Screen) Drain() tea.Cmd {
	batch := s.session.Drain()
	s.ring.Apply(batch)
	s.state = batch.State
	s.list.SetEmpty(s.emptyList())
	s.list.Sync()
	return tea.Batch(s.lead(), s.sync(), s.countHidden())
}

// lead brings the cursor to the request that the user was led to, once the list has it.
func (s *Screen) lead() tea.Cmd {
	id := s.want.Journey
	switch {
	case id == "":
		return nil
	case s.list.Select(id):
		want := s.want
		s.want = screen.ToRequest{}
		cmd := s.sync()
		s.open.step, s.open.field = want.Step, want.Field
		if want.Field != "" {
			s.showField()
		}
		if want.Step != "" {
			s.goTo(layout.Steps)
			s.toStep()
		}
		return cmd
	case s.state.Phase != session.Live && s.state.Phase != session.AsSaved:
		return nil
	case s.applied != "":
		s.follow("") // it may be that the filter hides it
		return nil
	}
	s.want = screen.ToRequest{}
	s.host.Complain("the server no longer has request " + id)
	return nil
}

// Status is how many requests there are, and how the following goes.
func (s *Screen) Status() (requests int, state session.State) { return s.ring.Len(), s.state }

// SetSize implements screen.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.relayout()
}

// Borders implements screen.Resizer.
func (s *Screen) Borders() *layout.Borders { return &s.mode.Borders }

// Place implements screen.Resizer.
func (s *Screen) Place() layout.Rect {
	s.relayout()
	return s.areas.Panes[s.focus]
}

func (s *Screen) relayout() {
	s.areas = layout.ForCapture(s.w, s.h, s.mode)
	s.steps.Share(s.areas.Shared)
	s.detail.Share(s.areas.Shared)
	for _, p := range s.panes() {
		r := s.areas.Panes[p.id]
		p.pane.SetSize(r.W, r.H)
	}
	if s.detail.WantsSource() != "" {
		s.host.Changed() // there may be room for it only now
	}
	s.list.Sync()
}

// goTo gives a pane the focus. Who looks at a request does not want it to move away.
func (s *Screen) goTo(p layout.Pane) {
	if p != layout.List && s.list.Following() && s.list.Selected() != nil {
		s.list.Hold()
		s.host.Say("follow is off while you look: F follows again")
	}
	s.focus = p
	if p != layout.List {
		s.mode.Body = p
	}
	s.zoom(s.mode.Zoom != layout.None)
}

func (s *Screen) zoom(on bool) {
	s.mode.Zoom = layout.None
	if on {
		s.mode.Zoom = s.focus
	}
	s.relayout()
}

// back closes what was opened last. It says whether there was anything.
func (s *Screen) back() bool {
	switch {
	case s.filtering:
		s.filtering = false
	case s.mode.Zoom != layout.None:
		s.zoom(false)
	case s.focus > layout.List:
		s.goTo(s.focus - 1)
	case s.applied != "":
		s.follow("")
		s.host.Say("the filter is off: all requests are shown")
	default:
		return false
	}
	return true
}

// Mouse implements screen.Screen.
func (s *Screen) Mouse(x, y, wheel int) tea.Cmd {
	if s.areas.Filter.Has(x, y) && wheel == 0 {
		s.edit()
		return nil
	}
	for _, p := range s.panes() {
		r := s.areas.Panes[p.id]
		if !r.Has(x, y) {
			continue
		}
		if wheel != 0 {
			return s.turn(p, wheel)
		}
		s.filtering = false
		s.goTo(p.id)
		switch p.id {
		case layout.List:
			s.list.SelectRow(y - r.Y)
		case layout.Steps:
			s.steps.SelectRow(y - r.Y)
		case layout.Detail:
			s.detail.SelectRow(y - r.Y)
		}
	}
	return s.sync()
}

// wheelRows is how many rows a turn of the wheel goes.
const wheelRows = 3

func (s *Screen) turn(p place, wheel int) tea.Cmd {
	id := keys.Down
	if wheel < 0 {
		id = keys.Up
	}
	var cmds []tea.Cmd
	for range wheelRows {
		cmd, _ := p.pane.Handle(id)
		cmds = append(cmds, cmd)
	}
	return tea.Batch(append(cmds, s.sync())...)
}

// emptyList is what a list without requests says.
func (s *Screen) emptyList() []string {
	host := draw.Clean(s.host.API().Host())
	switch {
	case s.state.Phase == session.AsSaved && s.applied == "":
		return []string{"  The capture is empty."}
	case s.state.Phase == session.AsSaved:
		return []string{"  No request of the capture matches the filter. esc shows all."}
	case host == "":
		return []string{"  The server is starting."}
	case s.state.Phase == session.Connecting:
		return []string{"  Connecting to " + host + " ..."}
	case s.state.Phase == session.Retrying:
		return []string{"  " + screen.NoAnswer}
	case s.applied != "":
		return s.hidden.lines(s.applied)
	}
	kubectl := "kubectl create configmap demo"
	if file := s.host.Kubeconfig(); file != "" {
		kubectl = "KUBECONFIG=" + draw.Clean(shellPath(file)) + " " + kubectl
	}
	lines := []string{"  No requests yet. Send one from another terminal:", "    " + kubectl}
	if s.options.Own != nil && s.options.Own() {
		lines = append(lines, "  or press "+demoKey+" for a demo: a definition, CronTab, and two objects of it")
	}
	return lines
}

// sameAs is how else the request under the cursor can be sent.
func (s *Screen) sameAs() (row *v1alpha1.Journey, command string) {
	if r := s.list.Selected(); r != nil {
		return r.Journey, sameAs(&r.Spec)
	}
	return nil, ""
}
