package compare

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/compare/align"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane/rows"
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
	screen.Split
	host screen.Host
	a, b *v1alpha1.Journey
	all  []align.Pair
	// rows are the pairs in the list: all, or those in which the two differ.
	rows []align.Pair
	hide bool

	steps, step *rows.Pane
	details     []line
	of          detailsKey
}

// detailsKey is what the details depend on.
type detailsKey struct {
	a, b *v1alpha1.Journey
	pair align.Pair
	w    int
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen.
func New(host screen.Host) *Screen {
	s := &Screen{host: host}
	s.steps, s.step = rows.New(host.Theme, s.stepRows), rows.New(host.Theme, s.detailRows)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{{Context: stepsPlace, Pane: s.steps}, {Context: detailsPlace, Pane: s.step}}, Arrange: s.arrange,
		Head: s.head, HeadLines: headLines,
		Moved: func(pane int) tea.Cmd {
			if pane == 0 {
				s.step.ToTop()
			}
			return nil
		},
	})
	return s
}

func (s *Screen) Name() screen.Name { return screen.Compare }

func (s *Screen) Show(to screen.Target) tea.Cmd {
	if to, ok := to.(screen.ToCompare); ok && to.A != nil && to.B != nil {
		s.a, s.b = to.A, to.B
		s.align()
		s.GoTo(0)
		s.steps.ToTop()
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
	s.rows = nil
	for _, p := range s.all {
		if !s.hide || p.Differs || p.A < 0 || p.B < 0 {
			s.rows = append(s.rows, p)
		}
	}
	s.steps.SetCursor(slices.Index(s.rows, at))
}

// current is the pair under the cursor.
func (s *Screen) current() align.Pair {
	if i := s.steps.Cursor(); i >= 0 {
		return s.rows[i]
	}
	return align.Pair{A: -1, B: -1}
}

// toDifference goes to the next pair in which the two differ, in a direction. From the very first it may stay.
func (s *Screen) toDifference(step int) bool {
	for i := s.steps.Cursor() + step; i >= 0 && i < len(s.rows); i += step {
		if p := s.rows[i]; p.Differs || p.A < 0 || p.B < 0 {
			s.steps.SetCursor(i)
			s.step.ToTop()
			return true
		}
	}
	return false
}

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command {
	both := s.Panes()
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
	if cmd, ok := s.Split.Handle(id); ok {
		return cmd, true
	}
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
		return screen.AskFind(s.host, "find a step", s.steps.Sought(), s.find), true
	case keys.Open:
		return s.open()
	case keys.Copy:
		return s.host.Copy(s.text()), true
	default:
		return nil, false
	}
	return nil, true
}

// find goes to the next pair whose step has a text.
func (s *Screen) find(text string) tea.Cmd {
	if !s.steps.Find(text, 1, false) {
		s.host.Complain("no step has " + text)
	}
	s.step.ToTop()
	return nil
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
