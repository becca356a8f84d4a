package detail

import (
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
)

// move runs a motion: in the source if that has the keys, else of the cursor among the linked lines, and of the
// window.
func (p *Pane) move(id keys.ID) bool {
	if p.tab == SourceTab && p.journey != nil {
		return p.code().Handle(id)
	}
	content := p.content()
	p.clamp(content)
	switch id {
	case keys.Down:
		p.moveTo(content, p.cursor+1, 1)
	case keys.Up:
		p.moveTo(content, p.cursor-1, -1)
	case keys.Top, keys.Bottom:
		p.view.Move(id, len(content), p.rows())
		if p.cursor = -1; id == keys.Bottom {
			p.moveTo(content, len(content)-1, -1)
			p.view.Move(id, len(content), p.rows())
		}
	case keys.HalfDown, keys.HalfUp:
		p.view.Move(id, len(content), p.rows())
		if p.cursor < p.view.Top || p.cursor >= p.view.Top+p.rows() {
			p.cursor = -1
		}
	case keys.Left, keys.Right:
	default:
		return false
	}
	p.clamp(content)
	return true
}

// moveTo puts the cursor on the next linked line from the given one on, if it is in view or just beyond; else it
// scrolls by a line.
func (p *Pane) moveTo(content []text, from, step int) {
	for i := max(from, 0); i >= 0 && i < len(content); i += step {
		if content[i].link == nil {
			continue
		}
		if i < p.view.Top-1 || i > p.view.Top+p.rows() {
			break
		}
		p.cursor = i
		p.view.Top = min(p.view.Top, i)
		p.view.Top = max(p.view.Top, i-p.rows()+1)
		return
	}
	p.view.Top += step
}

// clamp keeps the window on the lines, and the cursor on a linked line: the first in view, if it was on none.
func (p *Pane) clamp(content []text) {
	p.view.Clamp(len(content), p.rows())
	if p.cursor >= 0 && p.cursor < len(content) && content[p.cursor].link != nil {
		return
	}
	p.cursor = -1
	for i := p.view.Top; i < min(p.view.Top+p.rows(), len(content)); i++ {
		if content[i].link != nil {
			p.cursor = i
			return
		}
	}
}

// Click opens the tab at a cell of the pane, or puts the cursor on the line there, if that has a link.
func (p *Pane) Click(x, y int) bool {
	const above = 2 // the frame and the tabs
	if t, ok := p.tabAt(x); ok && y == above-1 {
		p.Open(t)
		return false
	}
	if p.tab == SourceTab || y < above || y >= p.h-1 {
		return false
	}
	content := p.content()
	i := p.view.Top + y - above
	if i >= len(content) || content[i].link == nil {
		return false
	}
	p.cursor = i
	return true
}

// Leads returns the link of the line under the cursor; ok is false if there is none.
func (p *Pane) Leads() (to Link, ok bool) {
	if p.journey == nil {
		return Link{}, false
	}
	if p.tab == SourceTab {
		step, ok := p.code().Step()
		return toStep(step), ok
	}
	content := p.content()
	p.clamp(content)
	if p.cursor < 0 {
		return Link{}, false
	}
	return *content[p.cursor].link, true
}

// SelectField opens the changes of the whole request, and puts the cursor on a field. It reports whether that field
// changed.
func (p *Pane) SelectField(path string) bool {
	if p.tab != DiffTab || !p.whole {
		p.report, p.reportErr = nil, nil
	}
	p.whole = true
	p.Open(DiffTab)
	for i, t := range p.content() {
		if t.field == path && t.link != nil {
			p.cursor = i
			p.view.Top = max(i-p.rows()/2, 0)
			return true
		}
	}
	return false
}

// Find scrolls to the next line with a text, from below the cursor and then from the beginning. It reports whether
// there is one.
func (p *Pane) Find(find string) bool {
	if p.tab == SourceTab && p.journey != nil {
		return p.code().Find(find)
	}
	content := p.content()
	i := pane.Find(find, len(content), max(p.cursor, p.view.Top)+1, 1, func(i int) string {
		return content[i].name + content[i].text + " " + content[i].note
	})
	if i < 0 {
		return false
	}
	p.view.Top, p.cursor = i, i
	for p.cursor < len(content) && content[p.cursor].link == nil {
		p.cursor++ // the link is in the line, or below it
	}
	p.clamp(content)
	return true
}
