package etcd

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
)

// find begins to look for a text in the pane that has the focus.
func (s *Screen) find() { s.search.Begin(s.pane(s.focus)) }

// Type implements screen.Screen. What is looked for is gone to while it is typed.
func (s *Screen) Type(text []rune) { s.search.Type(text, s.pane(s.focus), s.content(s.focus)) }

// handleFind does a command of the line. Only when the line is left, what is gone to is fetched.
func (s *Screen) handleFind(id keys.ID) (tea.Cmd, bool) {
	missing, ok := s.search.Handle(id, findAcceptID, s.pane(s.focus), s.content(s.focus))
	s.notFound(missing)
	if !ok || s.search.Open() {
		return nil, ok
	}
	return s.moved(s.focus), true
}

// findNext goes on to the next row, or the one before, that has the text.
func (s *Screen) findNext(step int) tea.Cmd {
	s.notFound(s.pane(s.focus).Again(step, s.content(s.focus)))
	return s.moved(s.focus)
}

func (s *Screen) notFound(text string) {
	if text != "" {
		s.host.Complain("no row that is read has " + draw.Clean(text))
	}
}
