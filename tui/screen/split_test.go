package screen

import (
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
)

// letter is a pane that is full of one letter, in capitals while it has the focus.
type letter struct {
	text  string
	w, h  int
	moves int
	y     int
}

func (l *letter) SetSize(w, h int) { l.w, l.h = w, h }

func (l *letter) Handle(id keys.ID) (tea.Cmd, bool) {
	if id == keys.Down {
		l.moves++
	}
	return nil, id == keys.Down
}

func (l *letter) Click(_, y int) bool {
	l.y = y
	return true
}

func (l *letter) Render(focused bool) []string {
	text := l.text
	if focused {
		text = strings.ToUpper(text)
	}
	return slices.Repeat([]string{strings.Repeat(text, l.w)}, l.h)
}

// split has a above b and c, which stand side by side, and a line.
func split(absent *int, moved *[]int) (*Split, []*letter) {
	panes := []*letter{{text: "a"}, {text: "b"}, {text: "c"}}
	s := &Split{}
	*s = NewSplit(nil, Plan{
		Panes: []Place{{keys.Place("a"), panes[0]}, {keys.Place("b"), panes[1]}, {keys.Place("c"), panes[2]}},
		Arrange: func(w, h int) []layout.Rect {
			if h < 3 {
				return nil
			}
			left := layout.Border(w, w/2, s.Borders().Across, 1, 1)
			return []layout.Rect{layout.NewRect(0, 0, w, 1), layout.NewRect(0, 1, left, h-1), layout.NewRect(left, 1, w-left, h-1)}
		},
		Head: func() []string { return []string{draw.Fit("head", s.w)} }, HeadLines: 1,
		Line:   &Line{Context: keys.Line("line"), Begin: func() string { return "x" }},
		Absent: func(pane int) bool { return pane == *absent },
		Moved: func(pane int) tea.Cmd {
			*moved = append(*moved, pane)
			return nil
		},
	})
	return s, panes
}

func TestSplit(t *testing.T) {
	absent, moved := -1, []int{}
	s, panes := split(&absent, &moved)
	s.SetSize(4, 4)
	press := func(id keys.ID) {
		t.Helper()
		if _, ok := s.Handle(id); !ok {
			t.Errorf("%s is not done", id)
		}
	}
	frame := func(want string) {
		t.Helper()
		if got := strings.Join(s.Render(), " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	frame("head AAAA bbcc bbcc")
	press(keys.PreviousPane)
	frame("head aaaa bbCC bbCC")
	if !s.Resize(true) {
		t.Error("no border moves")
	}
	frame("head aaaa bCCC bCCC")
	press(keys.Zoom)
	frame("head CCCC CCCC CCCC")
	press(keys.NextPane)
	frame("head AAAA AAAA AAAA")
	press(keys.Back)
	absent = 2
	press(keys.PreviousPane)
	if s.Context() != keys.Place("b") || s.Focus(keys.Place("c")) {
		t.Errorf("a pane that is absent has the focus: %s", s.Context())
	}
	press(keys.Back)
	if _, ok := s.Handle(keys.Back); ok {
		t.Error("there is something to go back from at the first pane")
	}
	absent = -1
	s.Mouse(0, 3, 1)
	if s.At() != 0 || panes[1].moves != 3 || !slices.Equal(moved, []int{1}) {
		t.Errorf("the wheel: focus %d, %d moves, %v", s.At(), panes[1].moves, moved)
	}
	s.Mouse(0, 3, 0)
	if s.At() != 1 || panes[1].y != 1 {
		t.Errorf("a press: focus %d, line %d", s.At(), panes[1].y)
	}
	s.SetSize(4, 3)
	frame("head BBBB BBBB")
}

// TestSplitLine types into the line: no pane shows the focus then, and esc leaves it first.
func TestSplitLine(t *testing.T) {
	absent, moved := -1, []int{}
	s, _ := split(&absent, &moved)
	s.SetSize(4, 4)
	s.Type([]rune("lost"))
	s.Mouse(0, 0, 0)
	s.Type([]rune("y"))
	if s.Context() != keys.Line("line") || s.Line().String() != "xy" {
		t.Errorf("%s has %q", s.Context(), s.Line())
	}
	if got := s.Render()[1]; got != "aaaa" {
		t.Errorf("while the line is open the first pane is %s", got)
	}
	s.Handle(keys.EditBackspace)
	if _, ok := s.Handle(keys.Back); !ok || s.Typing() || s.Line().String() != "x" {
		t.Errorf("after esc: typing %v, %q", s.Typing(), s.Line())
	}
}
