package etcd

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
)

// find begins to look for a text in the pane that has the focus.
func (s *Screen) find() {
	s.finding = true
	s.line.Set(s.pane(s.focus).Found())
}

// Type implements screen.Screen. What is looked for is gone to while it is typed.
func (s *Screen) Type(text []rune) {
	if !s.finding {
		return
	}
	s.line.Insert(text)
	s.look()
}

func (s *Screen) look() bool {
	return s.pane(s.focus).Find(s.line.String(), 1, true, s.content(s.focus))
}

func (s *Screen) handleFind(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case keys.Back:
		s.finding = false
		return s.moved(s.focus), true
	case findAcceptID:
		s.finding = false
		if s.line.String() != "" && !s.look() {
			s.host.Complain("no row that is read has " + draw.Clean(s.line.String()))
		}
		return s.moved(s.focus), true
	}
	if !s.line.Handle(id) {
		return nil, false
	}
	s.look()
	return nil, true
}

// findNext goes on to the next row, or the one before, that has the text.
func (s *Screen) findNext(step int) tea.Cmd {
	p := s.pane(s.focus)
	if !p.Find(p.Found(), step, false, s.content(s.focus)) {
		s.host.Complain("no row that is read has " + draw.Clean(p.Found()))
	}
	return s.moved(s.focus)
}
