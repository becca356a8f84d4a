package logs

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
)

// place is where the screen's keys are pressed.
var place = keys.Place("log")

// Screen shows a tail. It opens above the others.
type Screen struct {
	host screen.Host
	tail *Tail

	w, h    int
	lines   []string
	dropped int
	scroll  pane.Scroll
	held    bool // the cursor does not follow the newest line
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen of a tail.
func New(host screen.Host, tail *Tail) *Screen {
	s := &Screen{host: host, tail: tail}
	tail.notify(host.Changed)
	return s
}

// Name implements screen.Screen.
func (s *Screen) Name() screen.Name { return screen.Log }

// Contexts implements screen.Screen.
func (s *Screen) Contexts() []keys.Context { return []keys.Context{place} }

// Context implements screen.Screen.
func (s *Screen) Context() keys.Context { return place }

// Focus implements screen.Screen.
func (s *Screen) Focus(ctx keys.Context) bool { return ctx == place }

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command { return nil }

// Handle implements screen.Screen.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if id == keys.Copy && len(s.lines) > 0 {
		return s.host.Copy(s.lines[s.scroll.Cursor]), true
	}
	if !s.scroll.Move(id, len(s.lines), s.rows()) {
		return nil, false
	}
	s.held = s.scroll.Cursor < len(s.lines)-1
	return nil, true
}

// Type implements screen.Screen.
func (s *Screen) Type([]rune) {}

// Mouse implements screen.Screen.
func (s *Screen) Mouse(_, y, wheel int) tea.Cmd {
	const rows = 3
	i := s.scroll.Cursor + rows*wheel
	if wheel == 0 {
		i = s.scroll.Top + y - 1
	}
	if i >= 0 && i < len(s.lines) {
		s.scroll.Cursor = i
		s.held = i < len(s.lines)-1
		s.scroll.Clamp(len(s.lines), s.rows())
	}
	return nil
}

// rows is how many lines of the log are seen: below them is the whole of the one under the cursor.
func (s *Screen) rows() int { return max(s.h-2-s.footLines(), 1) }

// footLines is how much room the whole of a line has.
func (s *Screen) footLines() int {
	if s.h < 12 {
		return 0
	}
	return 4
}

// SetSize implements screen.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.follow()
}

func (s *Screen) follow() {
	if !s.held {
		s.scroll.Cursor = len(s.lines) - 1
	}
	s.scroll.Clamp(len(s.lines), s.rows())
}

// Show implements screen.Screen.
func (s *Screen) Show(screen.Target) tea.Cmd { return s.Drain() }

// Hide implements screen.Screen.
func (s *Screen) Hide() {}

// Update implements screen.Screen.
func (s *Screen) Update(tea.Msg) tea.Cmd { return nil }

// Drain implements screen.Screen.
func (s *Screen) Drain() tea.Cmd {
	var dropped int
	s.lines, dropped = s.tail.Lines()
	if s.held {
		s.scroll.Cursor = max(s.scroll.Cursor-(dropped-s.dropped), 0)
	}
	s.dropped = dropped
	s.follow()
	return nil
}

// Close implements screen.Screen.
func (s *Screen) Close() { s.tail.notify(nil) }

// Foot implements screen.Screen.
func (s *Screen) Foot() (sameAs, state string) { return "", "" }

// Render implements screen.Screen.
func (s *Screen) Render() []string {
	look := s.host.Theme()
	var lines []string
	for i := s.scroll.Top; i < min(s.scroll.Top+s.rows(), len(s.lines)); i++ {
		lines = append(lines, s.row(look, i))
	}
	if len(s.lines) == 0 {
		lines = []string{"  Nothing was logged."}
	}
	note := ""
	if n := len(s.lines); n > 0 {
		note = fmt.Sprintf("%d of %d", s.scroll.Cursor+1, n)
	}
	if s.dropped > 0 {
		note += fmt.Sprintf(", %d before them are in the file alone", s.dropped)
	}
	lines = draw.Block(lines, s.w-2, s.rows())
	if foot := s.footLines(); foot > 0 && len(s.lines) > 0 {
		lines = append(lines, look.Border(strings.Repeat("╌", max(s.w-2, 0))))
		lines = append(lines, draw.Wrap(" "+s.lines[s.scroll.Cursor], s.w-2)...)
	}
	return draw.Block(look.Box(lines, look.Title("Log"), note, s.w, s.h, true), s.w, s.h)
}

func (s *Screen) row(look theme.Theme, i int) string {
	line, mark := s.lines[i], "  "
	if strings.Contains(line, "level=ERROR") {
		mark = "! "
	}
	if i == s.scroll.Cursor {
		return look.Selected(draw.Fit("> "+mark[:1]+" "+line, s.w-2))
	}
	if mark == "! " {
		return look.Bad("  " + mark[:1] + " " + line)
	}
	return "    " + line
}
