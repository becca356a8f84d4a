package list

import (
	"strings"

	"github.com/kx-apiserver/kx/tui/pane"
)

// Select puts the cursor on a journey, and stops following. It reports whether the list has it.
func (p *Pane) Select(id string) bool {
	i := p.ring.Index(id)
	if i < 0 {
		return false
	}
	p.follow = false
	p.scroll.Cursor = i
	p.updateSelection()
	return true
}

// Find puts the cursor on the next row with a text, wrapping around, and stops following. It reports whether there is
// one.
func (p *Pane) Find(text string) bool {
	i := pane.Find(text, p.ring.Len(), p.scroll.Cursor+1, 1, func(i int) string {
		c := p.cells(p.ring.At(i))
		return strings.Join([]string{c.id, c.verb, c.resource, c.object, c.code, c.user}, " ")
	})
	if i < 0 {
		return false
	}
	p.follow = false
	p.scroll.Cursor = i
	p.updateSelection()
	return true
}

// Click puts the cursor on the row at a cell of the pane, and stops following.
func (p *Pane) Click(_, y int) bool {
	i := p.scroll.Top + y - 2 // the frame and the columns' names
	if y < 2 || y >= p.h-1 || i >= p.ring.Len() {
		return false
	}
	p.follow = false
	p.scroll.Cursor = i
	p.updateSelection()
	return true
}
