package compare

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/compare/align"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The panes.
var (
	stepsPlace   = keys.Place("compared steps")
	detailsPlace = keys.Place("compared step")
)

// The commands of the screen.
const (
	nextID     keys.ID = "compare.next"
	previousID keys.ID = "compare.previous"
	hideID     keys.ID = "compare.hide"
	swapID     keys.ID = "compare.swap"
	findID     keys.ID = "compare.find"
)

// Screen is the screen Compare. Its methods are called by one goroutine.
type Screen struct {
	host screen.Host
	a, b *v1alpha1.Journey
	all  []align.Pair
	// seen are the pairs that are shown: all, or those in which the two differ.
	seen  []align.Pair
	hide  bool
	focus keys.Context
	find  string

	w, h    int
	borders layout.Borders
	scroll  pane.Scroll
	view    pane.View
	details []line
	of      detailsKey
}

// detailsKey is what the details were made of.
type detailsKey struct {
	a, b *v1alpha1.Journey
	pair align.Pair
	w    int
}

var (
	_ screen.Screen  = (*Screen)(nil)
	_ screen.Resizer = (*Screen)(nil)
)

// New makes the screen.
func New(host screen.Host) *Screen { return &Screen{host: host, focus: stepsPlace} }

// Name implements screen.Screen.
func (s *Screen) Name() screen.Name { return screen.Compare }

// Contexts implements screen.Screen.
func (s *Screen) Contexts() []keys.Context { return []keys.Context{stepsPlace, detailsPlace} }

// Context implements screen.Screen.
func (s *Screen) Context() keys.Context { return s.focus }

// Focus implements screen.Screen.
func (s *Screen) Focus(ctx keys.Context) bool {
	if ctx != stepsPlace && ctx != detailsPlace {
		return false
	}
	s.focus = ctx
	return true
}

// Show implements screen.Screen.
func (s *Screen) Show(to screen.Target) tea.Cmd {
	if to, ok := to.(screen.ToCompare); ok && to.A != nil && to.B != nil {
		s.a, s.b = to.A, to.B
		s.align()
		s.focus = stepsPlace
		s.scroll = pane.Scroll{}
		s.toDifference(1)
	}
	return nil
}

// align aligns the two, and picks what is seen.
func (s *Screen) align() {
	s.all = align.Steps(s.a, s.b)
	s.pick()
}

func (s *Screen) pick() {
	at := s.current()
	s.seen = nil
	for _, p := range s.all {
		if !s.hide || p.Differs || p.A < 0 || p.B < 0 {
			s.seen = append(s.seen, p)
		}
	}
	s.scroll.Cursor = 0
	for i, p := range s.seen {
		if p == at {
			s.scroll.Cursor = i
		}
	}
	s.clamp()
}

// current is the pair under the cursor.
func (s *Screen) current() align.Pair {
	if s.scroll.Cursor < len(s.seen) {
		return s.seen[s.scroll.Cursor]
	}
	return align.Pair{A: -1, B: -1}
}

// toDifference goes to the next pair in which the two differ, in a direction. From the very first it may stay.
func (s *Screen) toDifference(step int) bool {
	for i := s.scroll.Cursor + step; i >= 0 && i < len(s.seen); i += step {
		if p := s.seen[i]; p.Differs || p.A < 0 || p.B < 0 {
			s.scroll.Cursor = i
			s.view.Top = 0
			s.clamp()
			return true
		}
	}
	return false
}

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command {
	both := s.Contexts()
	some := func() string {
		if s.a == nil {
			return "nothing is compared: mark a request with m in Capture, and press D on another"
		}
		return ""
	}
	return []keys.Command{
		{ID: nextID, Title: "go to the next difference", Help: "The next step that one alone took, or that went otherwise.", Hint: "next difference", Contexts: both, Keys: []string{"n"}, Enabled: some, Motion: true},
		{ID: previousID, Title: "go to the previous difference", Help: "The previous step that one alone took, or that went otherwise.", Contexts: both, Keys: []string{"p"}, Enabled: some, Motion: true},
		{ID: hideID, Title: "hide what is the same, or show it", Help: "Show the steps in which the two differ, or all.", Hint: "same", Contexts: both, Keys: []string{"u"}, Enabled: some},
		{ID: swapID, Title: "swap the two", Help: "The first becomes the second.", Contexts: both, Keys: []string{"s"}, Enabled: some},
		{ID: findID, Title: "find a step", Help: "To the next step whose ID or title has a text; behind the last it begins anew.", Contexts: both, Keys: []string{"f"}, Enabled: some},
	}
}

// Handle implements screen.Screen.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case nextID, previousID:
		step := map[keys.ID]int{nextID: 1, previousID: -1}[id]
		if !s.toDifference(step) {
			s.host.Say("there is no other difference that way")
		}
	case hideID:
		s.hide = !s.hide
		s.pick()
	case swapID:
		s.a, s.b = s.b, s.a
		s.align()
	case findID:
		return screen.AskFind(s.host, "find a step", s.find, s.findStep), true
	case keys.NextPane, keys.PreviousPane:
		if s.focus == stepsPlace {
			s.focus = detailsPlace
		} else {
			s.focus = stepsPlace
		}
	case keys.Open:
		return s.open()
	case keys.Copy:
		return s.host.Copy(s.text()), true
	default:
		return nil, s.move(id)
	}
	return nil, true
}

// move does a motion of the pane that has the focus.
func (s *Screen) move(id keys.ID) bool {
	if s.focus == detailsPlace {
		return s.view.Move(id, len(s.made()), s.room(s.places().details))
	}
	at := s.scroll.Cursor
	moved := s.scroll.Move(id, len(s.seen), s.rows())
	if s.scroll.Cursor != at {
		s.view.Top = 0
	}
	return moved
}

// open goes to the step under the cursor, in the first request that took it.
func (s *Screen) open() (tea.Cmd, bool) {
	p := s.current()
	switch {
	case p.A >= 0:
		return s.host.Go(screen.ToRequest{Journey: s.a.Name, Step: s.a.Status.Steps[p.A].ID}), true
	case p.B >= 0:
		return s.host.Go(screen.ToRequest{Journey: s.b.Name, Step: s.b.Status.Steps[p.B].ID}), true
	}
	return nil, true
}

// Type implements screen.Screen.
func (s *Screen) Type([]rune) {}

// Mouse implements screen.Screen.
func (s *Screen) Mouse(x, y, wheel int) tea.Cmd {
	at := s.places()
	switch {
	case wheel != 0 && at.details.Has(x, y):
		s.view.Top += 3 * wheel
		s.view.Clamp(len(s.made()), s.room(at.details))
	case wheel != 0:
		s.scroll.Cursor += 3 * wheel
		s.clamp()
	case at.details.Has(x, y):
		s.focus = detailsPlace
	case at.steps.Has(x, y):
		s.focus = stepsPlace
		if i := s.scroll.Top + y - at.steps.Y - 2; i >= s.scroll.Top && i < len(s.seen) {
			s.scroll.Cursor = i
			s.clamp()
		}
	}
	return nil
}

// SetSize implements screen.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.clamp()
}

func (s *Screen) clamp() { s.scroll.Clamp(len(s.seen), s.rows()) }

// Hide implements screen.Screen.
func (s *Screen) Hide() {}

// Update implements screen.Screen.
func (s *Screen) Update(tea.Msg) tea.Cmd { return nil }

// Drain implements screen.Screen.
func (s *Screen) Drain() tea.Cmd { return nil }

// Close implements screen.Screen.
func (s *Screen) Close() {}
