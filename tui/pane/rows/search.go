package rows

import (
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/prompt"
)

// SearchHelp is what stands below while something is looked for.
const SearchHelp = " enter stays there, n and N go on, esc leaves the line"

// Search is a line for what is looked for in a pane: it is gone to while it is typed. The zero Search is closed.
type Search struct {
	open bool
	line prompt.Line
}

// Open says that the line is there to be typed into.
func (s *Search) Open() bool { return s.open }

// Begin opens the line, with what was looked for last in the pane.
func (s *Search) Begin(p *Pane) {
	s.open = true
	s.line.Set(p.Found())
}

// Close closes the line. The cursor of the pane stays where it is.
func (s *Search) Close() { s.open = false }

// Type takes text, and goes to the next row that has what is typed by now.
func (s *Search) Type(text []rune, p *Pane, c Content) {
	if s.open {
		s.line.Insert(text)
		s.look(p, c)
	}
}

// Handle does a command of the line; accept is the one that ends it. What no row has, when it ends, is returned. It says
// whether id is such a command.
func (s *Search) Handle(id, accept keys.ID, p *Pane, c Content) (missing string, ok bool) {
	switch id {
	case keys.Back:
		s.Close()
		return "", true
	case accept:
		s.Close()
		if !s.look(p, c) {
			missing = s.line.String()
		}
		return missing, true
	}
	if !s.line.Handle(id) {
		return "", false
	}
	s.look(p, c)
	return "", true
}

// Again goes on to the next row, or by a step of -1 to the one before, that has what was looked for last in the pane.
// What no row has is returned.
func (p *Pane) Again(step int, c Content) (missing string) {
	if !p.Find(p.find, step, false, c) {
		missing = p.find
	}
	return missing
}

func (s *Search) look(p *Pane, c Content) bool { return p.Find(s.line.String(), 1, true, c) }

// View is the line in w cells.
func (s *Search) View(w int) string { return searchTitle + s.line.View(w-len(searchTitle)) }

const searchTitle = " find "
