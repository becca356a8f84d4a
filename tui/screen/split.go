package screen

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
)

// Split holds the panes of a screen: their places, which one has the focus or is zoomed, and the typed line above
// them. A screen embeds it for the behaviour that all screens share. Hide, Drain and Close do nothing here: a screen
// that needs them declares its own.
type Split struct {
	host Host
	plan Plan

	w, h    int
	areas   []layout.Rect
	borders layout.Borders
	focus   int
	behind  int // the pane other than the first that had the focus last
	zoomed  bool
	away    bool // a lesson beside the screen has the focus
	typing  bool
	line    editor.Line
}

// Plan describes the parts of a Split. All but Panes may be nil.
type Plan struct {
	// Panes are in the order in which tab goes through them.
	Panes []Place
	// Arrange places the panes on w by h cells. A pane that it leaves out has an empty Rect. nil leaves all cells to
	// the pane with the focus.
	Arrange func(w, h int) []layout.Rect
	// Head draws the lines above the panes, HeadLines of them.
	Head      func() []string
	HeadLines int
	// Line is the line that the user types into.
	Line *Line
	// Absent reports whether a pane has nothing to show: it does not get the focus.
	Absent func(pane int) bool
	// Focused is called when a pane gets the focus.
	Focused func(pane int)
	// Moved is called after the user moved a cursor.
	Moved func(pane int) tea.Cmd
}

// Place is a pane, and the context of its keys.
type Place struct {
	Context keys.Context
	Pane    pane.Pane
}

// Line is a line for a filter of the panes' contents, or for a search in them.
type Line struct {
	Context keys.Context
	// Begin is the text that the line opens with.
	Begin func() string
	// Changed is called after each change of the text.
	Changed func()
	// Left is called when esc closes the line. nil does nothing.
	Left func() tea.Cmd

	finds bool // the text is looked for in the pane with the focus
}

// NewSplit makes the panes of a screen. The first has the focus.
func NewSplit(host Host, plan Plan) Split {
	return Split{host: host, plan: plan, behind: min(1, len(plan.Panes)-1), areas: make([]layout.Rect, len(plan.Panes))}
}

// Contexts lists the contexts of the panes and of the line.
func (s *Split) Contexts() []keys.Context {
	all := s.Panes()
	if s.plan.Line != nil {
		all = append(all, s.plan.Line.Context)
	}
	return all
}

// Panes lists the contexts of the panes.
func (s *Split) Panes() []keys.Context {
	var all []keys.Context
	for _, p := range s.plan.Panes {
		all = append(all, p.Context)
	}
	return all
}

// Context returns the context of the line while it is open, else that of the pane with the focus.
func (s *Split) Context() keys.Context {
	if s.typing {
		return s.plan.Line.Context
	}
	return s.plan.Panes[s.focus].Context
}

// Focus opens the line, or gives the focus to a pane that is there.
func (s *Split) Focus(ctx keys.Context) bool {
	if l := s.plan.Line; l != nil && ctx == l.Context {
		s.OpenLine()
		return true
	}
	p := slices.Index(s.Panes(), ctx)
	if p < 0 || s.absent(p) {
		return false
	}
	s.GoTo(p)
	return true
}

func (s *Split) absent(p int) bool { return s.plan.Absent != nil && s.plan.Absent(p) }

// At returns the pane with the focus.
func (s *Split) At() int { return s.focus }

// Behind returns the visible pane where all but the first share one place: the one that had the focus last.
func (s *Split) Behind() int { return s.behind }

// Bring brings a pane to the place that it shares with others, without the focus.
func (s *Split) Bring(p int) {
	s.behind = p
	s.place()
}

// GoTo gives a pane the focus and closes the line.
func (s *Split) GoTo(p int) {
	s.typing = false
	if s.plan.Focused != nil {
		s.plan.Focused(p)
	}
	s.focus = p
	if p > 0 {
		s.behind = p
	}
	s.place()
}

// Zoomed reports whether one pane fills the screen.
func (s *Split) Zoomed() bool { return s.zoomed }

// Size is the size of the screen.
func (s *Split) Size() (w, h int) { return s.w, s.h }

// SetSize sets the size of the screen.
func (s *Split) SetSize(w, h int) {
	s.w, s.h = w, h
	s.place()
}

// Area returns the cells of a pane; empty if it is not visible.
func (s *Split) Area(p int) layout.Rect { return s.areas[p] }

// Borders holds the positions to which the user moved the borders between the panes.
func (s *Split) Borders() *layout.Borders { return &s.borders }

// Resize makes the pane with the focus larger or smaller. It reports whether there is a border to move.
func (s *Split) Resize(larger bool) bool {
	return s.borders.Resize(larger, func() layout.Rect {
		s.place()
		return s.areas[s.focus]
	})
}

// place lays the panes out.
func (s *Split) place() {
	if s.absent(s.focus) {
		s.focus = 0
	}
	head := min(s.plan.HeadLines, s.h)
	clear(s.areas)
	var areas []layout.Rect
	if !s.zoomed && s.plan.Arrange != nil {
		areas = s.plan.Arrange(s.w, s.h-head)
	}
	if areas == nil {
		s.areas[s.focus] = layout.NewRect(0, 0, s.w, s.h-head)
	}
	copy(s.areas, areas)
	for i, p := range s.plan.Panes {
		s.areas[i].Y += head
		p.Pane.SetSize(s.areas[i].W, s.areas[i].H)
	}
}

// Render draws the line, or else the head, and below it the panes.
func (s *Split) Render() []string { return s.Draw(!s.typing) }

// Blur records whether the focus is outside the panes.
func (s *Split) Blur(away bool) { s.away = away }

// Draw is Render for a screen that may draw an overlay: with focus false, no pane shows the focus.
func (s *Split) Draw(focus bool) []string {
	s.place()
	focus = focus && !s.away
	frame := make([]string, s.h)
	if s.plan.Head != nil {
		copy(frame, s.plan.Head())
	}
	var order []int
	for i, a := range s.areas {
		if a.W > 0 && a.H > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.areas[a].X - s.areas[b].X })
	for _, i := range order {
		for y, line := range s.plan.Panes[i].Pane.Render(focus && i == s.focus) {
			frame[s.areas[i].Y+y] += line
		}
	}
	if s.typing && s.plan.Line.finds && s.h > 0 {
		frame[0] = s.findView()
	}
	return draw.Block(frame, s.w, s.h)
}

// Handle runs the commands that all screens share: go back, to another pane, zoom, edit the line, and move in the
// pane with the focus.
func (s *Split) Handle(id keys.ID) (tea.Cmd, bool) {
	if s.typing {
		return s.edit(id)
	}
	switch id {
	case keys.Back:
		return nil, s.back()
	case keys.NextPane:
		s.step(1)
	case keys.PreviousPane:
		s.step(-1)
	case keys.Zoom:
		s.zoomed = !s.zoomed
		s.place()
	default:
		cmd, ok := s.plan.Panes[s.focus].Pane.Handle(id)
		if !ok {
			return nil, false
		}
		return tea.Batch(cmd, s.cursorMoved(s.focus)), true
	}
	return nil, true
}

// back undoes the zoom, or else a change of focus. It reports whether there was either.
func (s *Split) back() bool {
	switch {
	case s.zoomed:
		s.zoomed = false
		s.place()
	case s.focus > 0:
		s.step(-1)
	default:
		return false
	}
	return true
}

// step moves the focus to the next pane with contents, by 1 or -1.
func (s *Split) step(by int) {
	n := len(s.plan.Panes)
	p := (s.focus + by + n) % n
	for s.absent(p) {
		p = (p + by + n) % n
	}
	s.GoTo(p)
}

func (s *Split) cursorMoved(p int) tea.Cmd {
	if s.plan.Moved == nil {
		return nil
	}
	return s.plan.Moved(p)
}

// Mouse opens the pressed line, scrolls the pane under the wheel, or moves the cursor to the press.
func (s *Split) Mouse(x, y, wheel int) tea.Cmd {
	for i, a := range s.areas {
		if !a.Has(x, y) {
			continue
		}
		p := s.plan.Panes[i].Pane
		if wheel != 0 {
			var cmds []tea.Cmd
			pane.Wheel(wheel, func(id keys.ID) {
				cmd, _ := p.Handle(id)
				cmds = append(cmds, cmd)
			})
			return tea.Batch(append(cmds, s.cursorMoved(i))...)
		}
		hit := p.Click(x-a.X, y-a.Y)
		s.GoTo(i)
		if hit {
			return s.cursorMoved(i)
		}
		return nil
	}
	if s.plan.Line != nil && s.plan.HeadLines > 0 && wheel == 0 && y == 0 {
		s.OpenLine()
	}
	return nil
}

// Hide does nothing.
func (s *Split) Hide() {}

// Drain does nothing.
func (s *Split) Drain() tea.Cmd { return nil }

// Close does nothing.
func (s *Split) Close() {}
