package cache

import (
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
	if s.finding {
		s.line.Insert(text)
		s.look()
	}
}

func (s *Screen) look() bool {
	found := s.pane(s.focus).Find(s.line.String(), 1, true, s.content(s.focus))
	s.moved(s.focus)
	return found
}

func (s *Screen) handleFind(id keys.ID) bool {
	switch id {
	case keys.Back:
		s.finding = false
		return true
	case findAcceptID:
		s.finding = false
		if s.line.String() != "" && !s.look() {
			s.host.Complain("no row has " + draw.Clean(s.line.String()))
		}
		return true
	}
	if !s.line.Handle(id) {
		return false
	}
	s.look()
	return true
}

func (s *Screen) findNext(step int) {
	p := s.pane(s.focus)
	if !p.Find(p.Found(), step, false, s.content(s.focus)) {
		s.host.Complain("no row has " + draw.Clean(p.Found()))
	}
	s.moved(s.focus)
}
