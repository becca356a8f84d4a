package capture

import (
	"errors"
	"io"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane/detail"
	"github.com/kx-apiserver/kx/tui/pane/list"
	"github.com/kx-apiserver/kx/tui/pane/steps"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/source"
)

// ringCapacity limits the rows of the list. They have no steps: only the open request has.
const ringCapacity = 10_000

// Screen is the screen Capture. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host    screen.Host
	options Options
	session *session.Session
	started bool
	ring    *session.Ring
	state   session.State

	list   *list.Pane
	steps  *steps.Pane
	detail *detail.Pane

	applied string            // the filter of the list
	named   map[string]string // the filters that the user kept, by name
	// unfolded reports that the list shows clients' discovery.
	unfolded bool

	open      subject
	held      *control.Control
	orders    orders
	running   running
	precedent precedent
	related   relatedRequests
	hidden    hiddenCount

	sources  *source.Library
	watching cacheAnswer // the watch cache that Detail shows
	found    string      // the text of the last search
	// lastMarked is the request on the other side of a comparison.
	lastMarked string

	want destination
}

// destination is the request that the user wants to see, until the cursor is there.
type destination struct {
	screen.ToRequest
	// asked reports that the server was queried for the request, because the list does not have it.
	asked bool
}

var (
	_ screen.Screen  = (*Screen)(nil)
	_ screen.Retrier = (*Screen)(nil)
)

// Options configure the screen.
type Options struct {
	// Saved holds the requests of a capture, to show instead of a server. Dropped counts older ones that did not fit.
	Saved   []*v1alpha1.Journey
	Dropped int
	// Own reports whether the server is this program's own: only then is the demo offered.
	Own func() bool
	// Named shows the IDs of steps before their titles, for a text that names steps by them.
	Named bool
	// Export writes requests as a document. It may be nil.
	Export func(out io.Writer, e *Export) error
}

// Export is a document about requests.
type Export struct {
	// Form is html, md or svg.
	Form string
	// Server is the address of the requests' server; empty for a saved capture.
	Server   string
	Journeys []*v1alpha1.Journey
	// Both puts two journeys beside each other.
	Both bool
	// Language is the language of the document's words.
	Language lang.Language
	// Others holds, by the name of a refused request, the requests that changed the object over which it was refused.
	Others map[string][]*v1alpha1.Journey
	// Files returns the server's source files; nil if there is no server.
	Files func(file string) (string, error)
}

// New makes the screen. It sends no request until it is shown.
func New(host screen.Host, held *control.Control, o Options) *Screen {
	ring, look := session.NewRing(ringCapacity), host.Theme
	ring.Dropped = uint64(o.Dropped)
	s := &Screen{
		host: host, options: o, session: openSession(host, o), ring: ring,
		list: list.New(ring, look, host.Zone()), steps: steps.New(look), detail: detail.New(look),
		held: held,
	}
	s.steps.ShowIDs(o.Named)
	s.sources = source.NewLibrary(host, s.supply)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{{Context: keys.List, Pane: s.list}, {Context: keys.Steps, Pane: s.steps},
			{Context: keys.Detail, Pane: s.detail}},
		Arrange: func(w, h int) []layout.Rect {
			return layout.ForCapture(w, h, s.Behind(), s.detail.Wants(w), *s.Borders())
		},
		Head: func() []string { return []string{s.filterLine()} }, HeadLines: 1, Focused: s.stopFollowing,
		Line: &screen.Line{Context: keys.Filter, Begin: func() string { return s.applied }},
	})
	s.open.cancel = func() {}
	s.detail.Message("", "Here comes what is known of one step.")
	s.greet()
	return s
}

// openSession returns the session with the server, or with the saved capture.
func openSession(host screen.Host, o Options) *session.Session {
	if host.API().Absent() != "" {
		return session.NewArchive(o.Saved, host.Reasons(), host.Changed, host.Guard)
	}
	return session.NewSession(host.API(), host.Reasons(), ringCapacity, host.Changed, host.Guard)
}

func (s *Screen) Name() screen.Name { return screen.Capture }

func (s *Screen) Show(to screen.Target) tea.Cmd {
	if !s.started {
		s.started = true
		s.held.Start()
		s.follow(s.applied)
	}
	switch to := to.(type) {
	case screen.ToRequest:
		s.want = destination{ToRequest: to}
		return s.lead()
	case screen.ToRequests:
		s.GoTo(layout.List)
		s.follow(to.Filter)
	case screen.ToNewest:
		s.want = destination{}
		s.list.Follow()
		return s.sync()
	}
	return nil
}

func (s *Screen) Close() {
	s.open.cancel()
	s.session.Close()
}

func (s *Screen) Drain() tea.Cmd {
	batch := s.session.Drain()
	s.ring.Apply(batch)
	s.state = batch.State
	s.greet()
	s.list.Sync()
	return tea.Batch(s.lead(), s.sync(), s.countHidden())
}

// lead moves the cursor to the wanted request, once the list has it.
func (s *Screen) lead() tea.Cmd {
	id := s.want.Journey
	switch {
	case id == "":
		return nil
	case s.list.Select(id):
		want := s.want
		s.want = destination{}
		cmd := s.sync()
		s.open.step, s.open.field, s.open.tab = want.Step, want.Field, want.Tab
		if want.Field != "" {
			s.showField()
		}
		if want.Step != "" {
			s.GoTo(layout.Steps)
			s.toStep()
		}
		s.showTab()
		return tea.Batch(cmd, s.supply())
	case s.state.Phase != session.Live && s.state.Phase != session.AsSaved:
		return nil
	case s.applied != "":
		s.follow("") // the filter may hide it
		return nil
	}
	if s.want.asked {
		return nil
	}
	s.want.asked = true
	return s.askFor(id)
}

// askFor requests a journey that the list does not have: it has not arrived yet, made room for others, or is folded.
func (s *Screen) askFor(id string) tea.Cmd {
	get := func() (*v1alpha1.Journey, error) { return s.session.Get(s.host.Context(), id) }
	return screen.Do(s.host, get, func(j *v1alpha1.Journey, err error) tea.Cmd {
		switch {
		case s.want.Journey != id: // the list has it by now, or the user went elsewhere
			return nil
		case errors.Is(err, session.ErrForgotten):
			s.want = destination{}
			s.host.Complain(s.phrase("the server no longer has request %s", id))
			return nil
		case err != nil:
			s.want = destination{}
			s.host.Complain(draw.Clean(s.phrase("request %s: %s", id, s.host.Theme().Words.Text(screen.Trouble(err)))))
			return nil
		}
		s.ring.Insert(j)
		s.list.Sync()
		return s.lead()
	})
}

// Status returns the number of requests, and the state of the session.
func (s *Screen) Status() (requests int, state session.State) { return s.ring.Len(), s.state }

// SetSize sets the size of the screen. A larger one may have room for a source file, which Drain then requests.
func (s *Screen) SetSize(w, h int) {
	s.steps.Share(w < layout.Narrow)
	s.detail.Share(w < layout.Narrow)
	s.Split.SetSize(w, h)
	s.host.Changed()
}

// Resize makes the pane with the focus larger or smaller. As with SetSize, Drain may request a source file then.
func (s *Screen) Resize(larger bool) bool {
	s.host.Changed()
	return s.Split.Resize(larger)
}

// stopFollowing stops following when the user looks at a request, so that the request stays under the cursor.
func (s *Screen) stopFollowing(pane int) {
	if pane != layout.List && s.list.Following() && s.list.Selected() != nil {
		s.list.Hold()
		s.host.Say(s.phrase("follow is off while you look: %s follows again", keys.Follow.Key()))
	}
}

// back removes the filter. It reports whether there was one.
func (s *Screen) back() bool {
	if s.applied == "" {
		return false
	}
	s.follow("")
	s.host.Say("the filter is off: all requests are shown")
	return true
}

// Mouse handles a press or a turn of the wheel.
func (s *Screen) Mouse(x, y, wheel int) tea.Cmd {
	return tea.Batch(s.Split.Mouse(x, y, wheel), s.sync())
}

// sameAs returns the request under the cursor, with a command that sends the same.
func (s *Screen) sameAs() (row *v1alpha1.Journey, command string) {
	if r := s.list.Selected(); r != nil {
		return r.Journey, sameAs(&r.Spec)
	}
	return nil, ""
}
