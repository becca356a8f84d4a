package logs

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
)

// place is where the screen's keys are pressed.
var place = keys.Place("log")

// Screen is the screen Log. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host screen.Host
	tail *Tail

	lines   []string
	dropped int
	list    *pane.Rows
	held    bool // the cursor does not follow the newest line
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen for a tail.
func New(host screen.Host, tail *Tail) *Screen {
	s := &Screen{host: host, tail: tail}
	s.list = pane.NewRows(host.Theme, s.content)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{{Context: place, Pane: s.list}},
		Moved: func(int) tea.Cmd {
			s.held = s.list.Cursor() < len(s.lines)-1
			return nil
		},
	})
	tail.notify(host.Changed)
	return s
}

func (s *Screen) Name() screen.Name { return screen.Log }

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command { return nil }

// Handle copies a line, or moves.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if i := s.list.Cursor(); id == keys.Copy && i >= 0 {
		return s.host.Copy(s.lines[i]), true
	}
	return s.Split.Handle(id)
}

func (s *Screen) Show(screen.Target) tea.Cmd { return s.Drain() }

// Drain takes new lines. The cursor stays on its line, or follows the newest.
func (s *Screen) Drain() tea.Cmd {
	var dropped int
	s.lines, dropped = s.tail.Lines()
	if s.held {
		s.list.SetCursor(s.list.Cursor() - (dropped - s.dropped))
	} else {
		s.list.SetCursor(len(s.lines) - 1)
	}
	s.dropped = dropped
	return nil
}

func (s *Screen) Close() { s.tail.notify(nil) }

func (s *Screen) Foot() (sameAs, state string) { return "", "" }

const (
	// footLines is the number of lines below the list, for the full text of the line under the cursor.
	footLines = 4
	// low is the height below which there are no such lines.
	low = 12
)

// content draws the log.
func (s *Screen) content() pane.Content {
	look := s.host.Theme()
	w, h := s.Size()
	c := pane.Content{Title: look.Title(look.Words.Phrase("Log")), NoMarks: true, Counted: true,
		Rows: len(s.lines), Empty: []string{"  " + look.Words.Phrase("Nothing was logged.")}}
	if s.dropped > 0 {
		c.Note = look.Words.Phrase(", %d before them are in the file alone", s.dropped)
	}
	c.Row = func(i int) pane.Row {
		if strings.Contains(s.lines[i], "level=ERROR") {
			return pane.Row{Text: "! " + s.lines[i], Style: look.Bad}
		}
		return pane.Row{Text: "  " + s.lines[i]}
	}
	if h >= low {
		c.Foot = func(row int) []string {
			rule := look.Border(strings.Repeat("╌", max(w-2, 0)))
			return draw.Block(append([]string{rule}, draw.Wrap(" "+s.lines[row], w-2)...), w-2, footLines)
		}
	}
	return c
}
