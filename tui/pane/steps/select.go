package steps

import (
	"strings"

	"github.com/kx-apiserver/kx/tui/pane"
)

// Select puts the cursor on the first step of an ID, and unfolds the rows above it. It reports whether there is one.
func (p *Pane) Select(id string) bool {
	if p.journey == nil {
		return false
	}
	for i := range p.journey.Status.Steps {
		if p.journey.Status.Steps[i].ID == id {
			p.unfoldTo(p.roots, i)
			p.layout()
			p.moveTo(i)
			return true
		}
	}
	return false
}

// unfoldTo unfolds the nodes above a step. It reports whether the step is among them.
func (p *Pane) unfoldTo(nodes []*node, step int) bool {
	for _, n := range nodes {
		if n.called() && n.step == step {
			return true
		}
		if p.unfoldTo(n.children, step) {
			p.folds[n.key()] = false
			return true
		}
	}
	return false
}

// Find puts the cursor on the next row with a text, wrapping around. It reports whether there is one.
func (p *Pane) Find(text string) bool {
	if p.journey == nil {
		return false
	}
	i := pane.Find(text, len(p.rows), p.scroll.Cursor+1, 1, func(i int) string {
		t, id := p.textOf(p.rows[i], i), ""
		if p.rows[i].called() {
			id = p.journey.Status.Steps[p.rows[i].step].ID
		}
		return strings.Join([]string{id, t.layer, t.title, t.subject, t.why}, " ")
	})
	if i < 0 {
		return false
	}
	p.scroll.Cursor = i
	p.clamp()
	return true
}

// Click puts the cursor on the row at a cell of the pane.
func (p *Pane) Click(_, y int) bool {
	i := p.scroll.Top + y - 1 - p.headLines() // the frame
	if y < 1+p.headLines() || y >= p.h-1-p.foot() || i >= len(p.rows) {
		return false
	}
	p.scroll.Cursor = i
	p.clamp()
	return true
}
