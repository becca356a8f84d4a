package send

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// pick is a choice of a picker.
type pick struct {
	value string
	text  string // the displayed text; value if empty
}

// picker is a typed line, with a list of choices below it.
type picker struct {
	title string
	line  editor.Line
	// match returns the choices for a typed text.
	match func(typed string) []pick
	// free allows any typed text, too.
	free bool
	note string
	// complete, if set, is the command of tab; else tab takes the choice under the cursor.
	complete func(typed string) tea.Cmd
	then     func(value string) tea.Cmd

	found  []pick
	rows   pane.Scroll
	chosen bool // the user moved the cursor
	seen   int  // rows that are seen
}

// plain matches the choices that contain the typed letters.
func plain(values []string) func(string) []pick {
	return func(typed string) []pick {
		var begin, within []pick
		for _, v := range values {
			switch {
			case strings.HasPrefix(strings.ToLower(v), strings.ToLower(typed)):
				begin = append(begin, pick{value: v})
			case strings.Contains(strings.ToLower(v), strings.ToLower(typed)):
				within = append(within, pick{value: v})
			}
		}
		return append(begin, within...)
	}
}

// refresh finds again.
func (p *picker) refresh() {
	p.found = nil
	if p.match != nil {
		p.found = p.match(p.line.String())
	}
	p.rows, p.chosen = pane.Scroll{}, false
}

// typeText types.
func (p *picker) typeText(text []rune) bool {
	ok := p.line.Insert(text)
	p.refresh()
	return ok
}

// handle runs a command that edits the line or moves among the choices.
func (p *picker) handle(id keys.ID) bool {
	if p.rows.Move(id, len(p.found), p.seen) {
		p.chosen = true
		return true
	}
	before := p.line.String()
	if !p.line.Handle(id) {
		return false
	}
	if p.line.String() != before {
		p.refresh()
	}
	return true
}

// current returns the choice under the cursor.
func (p *picker) current() (string, bool) {
	if p.rows.Cursor < len(p.found) {
		return p.found[p.rows.Cursor].value, true
	}
	return "", false
}

// picked returns the value that enter takes.
func (p *picker) picked() (string, bool) {
	if value, ok := p.current(); ok && (p.chosen || !p.free) {
		return value, true
	}
	return p.line.String(), p.free
}

// put copies the choice under the cursor into the line.
func (p *picker) put() {
	if value, ok := p.current(); ok {
		p.line.Set(value)
		p.refresh()
	}
}

// box draws the picker in at most w by h cells.
func (p *picker) box(w, h int, look theme.Theme) []string {
	if w < 8 || h < 3 {
		return draw.Block([]string{p.line.View(w)}, w, min(h, 1))
	}
	lines := []string{p.line.View(w - 2)}
	if p.note != "" {
		lines = append(lines, look.Dim(draw.Clean(look.Words.Text(p.note))))
	}
	p.seen = max(h-2-len(lines), 0)
	p.rows.Clamp(len(p.found), p.seen)
	for i := p.rows.Top; i < len(p.found) && i < p.rows.Top+p.seen; i++ {
		text := p.found[i].text
		if text == "" {
			text = p.found[i].value
		}
		if text == "" {
			text = "(none)"
		}
		text = draw.Fit(draw.Clean(text), w-4)
		if i == p.rows.Cursor && (p.chosen || !p.free) {
			lines = append(lines, look.Selected("> "+text))
		} else {
			lines = append(lines, "  "+text)
		}
	}
	return look.Box(lines, draw.Clean(look.Words.Text(p.title)), "", w, min(h, len(lines)+2), true)
}
