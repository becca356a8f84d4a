package cache

import (
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
)

// find begins to look for a text in the pane that has the focus.
func (s *Screen) find() { s.search.Begin(s.pane(s.focus)) }

// Type implements screen.Screen. What is looked for is gone to, and chosen, while it is typed.
func (s *Screen) Type(text []rune) {
	s.search.Type(text, s.pane(s.focus), s.content(s.focus))
	s.moved(s.focus)
}

func (s *Screen) handleFind(id keys.ID) bool {
	missing, ok := s.search.Handle(id, findAcceptID, s.pane(s.focus), s.content(s.focus))
	s.notFound(missing)
	s.moved(s.focus)
	return ok
}

// findNext goes on to the next row, or the one before, that has the text.
func (s *Screen) findNext(step int) {
	s.notFound(s.pane(s.focus).Again(step, s.content(s.focus)))
	s.moved(s.focus)
}

func (s *Screen) notFound(text string) {
	if text != "" {
		s.host.Complain("no row has " + draw.Clean(text))
	}
}
