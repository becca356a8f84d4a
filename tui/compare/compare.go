package compare

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The panes.
var (
	stepsPlace   = keys.Place("compared steps")
	detailsPlace = keys.Place("compared step")
)

// Screen is the screen Compare. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host screen.Host
	save screen.Saver
	a, b *v1alpha1.Journey // in the user's language
	// given holds the same two as they were recorded.
	given [2]*v1alpha1.Journey
	all   []diff.StepPair
	// rows holds the pairs in the list: all, or only the different ones.
	rows []diff.StepPair
	hide bool

	steps, step *pane.Rows
	details     []line
	of          detailsKey
}

// detailsKey holds the inputs of the details.
type detailsKey struct {
	a, b *v1alpha1.Journey
	pair diff.StepPair
	w    int
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen.
func New(host screen.Host, save screen.Saver) *Screen {
	s := &Screen{host: host, save: save}
	s.steps, s.step = pane.NewRows(host.Theme, s.stepRows), pane.NewRows(host.Theme, s.detailRows)
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
		words := s.host.Theme().Words
		s.a, s.b, s.given = words.Journey(to.A), words.Journey(to.B), [2]*v1alpha1.Journey{to.A, to.B}
		s.align()
		s.GoTo(0)
		s.steps.ToTop()
		s.toDifference(1)
	}
	return nil
}

// align aligns the two requests, and picks the visible pairs.
func (s *Screen) align() {
	s.all = diff.Steps(s.a, s.b)
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

// current returns the pair under the cursor.
func (s *Screen) current() diff.StepPair {
	if i := s.steps.Cursor(); i >= 0 {
		return s.rows[i]
	}
	return diff.StepPair{A: -1, B: -1}
}

// toDifference moves to the next different pair in a direction. From the very first it may stay.
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

func (s *Screen) Commands() []keys.Command {
	both := s.Panes()
	return []keys.Command{
		{ID: "compare.next", Meaning: keys.Next, Contexts: both, Hint: "next difference", WhyNot: s.whyNothing,
			Do:   keys.Call(func() { s.seek(1) }),
			Help: "Go to the next step that only one request took, or that went another way."},
		{ID: "compare.previous", Meaning: keys.Previous, Contexts: both, WhyNot: s.whyNothing, Do: keys.Call(func() { s.seek(-1) }),
			Help: "Go to the previous step that only one request took, or that went another way."},
		{ID: "compare.hide", Meaning: keys.Unchanged, Contexts: both, Hint: "same", WhyNot: s.whyNothing, Do: keys.Call(s.toggleSame),
			Help: "Show all steps, or only those in which the two requests differ."},
		{ID: "compare.swap", Meaning: keys.OtherSide, Contexts: both, WhyNot: s.whyNothing, Do: keys.Call(s.swap),
			Help: "Swap the two requests: the first becomes the second."},
		{ID: "compare.picture", Meaning: keys.Draw, Contexts: both, Hint: "picture", WhyNot: s.whyNothing, Do: s.draw,
			Help: "Draw both requests as pictures, one above the other, at the place where they part."},
		{ID: "compare.save", Meaning: keys.Save, Contexts: both, Hint: "save both", WhyNot: s.whyNotSaved,
			Do: func() tea.Cmd { return s.save(s.given[:]...) },
			Help: "Save both requests as one document, as kx trace export with two IDs writes it: as a page for any browser, as " +
				"Markdown for an issue, or as a drawing. Secrets are masked."},
		{ID: "compare.find", Meaning: keys.Find, Contexts: both, WhyNot: s.whyNothing, Do: s.askFind,
			Help: "Go to the next step with a text in its ID or title. After the last comes the first."},
	}
}

// whyNothing returns the reason to disable a command that needs two requests.
func (s *Screen) whyNothing() string {
	if s.a == nil {
		return s.host.Theme().Words.Phrase("nothing is compared: %s", s.howTo())
	}
	return ""
}

func (s *Screen) whyNotSaved() string {
	if why := s.whyNothing(); why != "" {
		return why
	}
	if err := diff.Comparable(s.a, s.b); err != nil {
		return err.Error()
	}
	return ""
}

// howTo explains how to compare two requests.
func (s *Screen) howTo() string {
	return s.host.Theme().Words.Phrase("mark a request with %s in Capture, and press %s on another", keys.Mark.Key(), keys.CompareTwo.Key())
}

func (s *Screen) seek(step int) {
	if !s.toDifference(step) {
		s.host.Say("there is no other difference that way")
	}
}

func (s *Screen) toggleSame() {
	s.hide = !s.hide
	s.pick()
}

func (s *Screen) swap() {
	s.a, s.b = s.b, s.a
	s.given[0], s.given[1] = s.given[1], s.given[0]
	s.align()
}

func (s *Screen) draw() tea.Cmd {
	return s.host.Go(screen.ToPicture{Journey: s.given[0], Beside: s.given[1], Step: -1})
}

func (s *Screen) askFind() tea.Cmd {
	return screen.AskFind(s.host, s.host.Theme().Words.Phrase("find a step"), s.steps.Sought(), s.find)
}

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if cmd, ok := s.Split.Handle(id); ok {
		return cmd, true
	}
	switch id {
	case keys.Open:
		return s.open(), true
	case keys.Copy:
		return s.host.Copy(s.text()), true
	}
	return nil, false
}

// find goes to the next pair whose step has a text.
func (s *Screen) find(text string) tea.Cmd {
	if !s.steps.Find(text, 1, false) {
		s.host.Complain(s.host.Theme().Words.Phrase("no step has %s", text))
	}
	s.step.ToTop()
	return nil
}

// open goes to the step under the cursor, in the first request that took it.
func (s *Screen) open() tea.Cmd {
	p := s.current()
	switch {
	case p.A >= 0:
		return s.host.Go(screen.ToRequest{Journey: s.a.Name, Step: s.a.Status.Steps[p.A].ID})
	case p.B >= 0:
		return s.host.Go(screen.ToRequest{Journey: s.b.Name, Step: s.b.Status.Steps[p.B].ID})
	}
	return nil
}
