package pane

import (
	"cmp"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Row is one row as it is drawn.
type Row struct {
	Text string
	// Full is the text to search, if Text may be cut.
	Full string
	// Mark is one character in the column beside the cursor's, or nothing.
	Mark string
	// Style paints the row; nil leaves it as it is.
	Style theme.Style
}

// Content describes the contents of a pane.
type Content struct {
	// Title and Note are in the frame, at the left and at the right. An empty Note becomes the cursor's position.
	Title, Note string
	// Head stands above the rows and does not move.
	Head []string
	// Foot draws lines below the rows about the row under the cursor, if a few rows still fit. nil draws none.
	Foot func(row int) []string
	// Rows is the number of rows; Row makes one of them. Its text must be clean.
	Rows int
	Row  func(i int) Row
	// Text marks contents to read, not to choose from: there is no cursor, and the text moves sideways.
	Text bool
	// NoMarks leaves the column of marks out.
	NoMarks bool
	// Counted puts the cursor's position before Note, even while all rows are in view.
	Counted bool
	// Empty holds the lines to show without rows.
	Empty []string
}

// Rows is a framed pane of rows: a list with a cursor, or text without one, that can be searched. It owns the positions
// of the cursor and the window. For each frame it takes a [Content], and makes only the visible rows.
type Rows struct {
	look    func() theme.Theme
	content func() Content

	w, h   int
	scroll Scroll
	view   View
	left   int
	find   string
}

var _ Pane = (*Rows)(nil)

// NewRows makes a pane. The pane calls content whenever it needs it, so content must not call Cursor.
func NewRows(look func() theme.Theme, content func() Content) *Rows {
	return &Rows{look: look, content: content}
}

// sideways is the number of cells of one step to the side.
const sideways = 8

// SetSize sets the size of the pane with its frame.
func (p *Rows) SetSize(w, h int) { p.w, p.h = max(w, 0), max(h, 0) }

// Size returns the size from SetSize.
func (p *Rows) Size() (w, h int) { return p.w, p.h }

// Cursor returns the row under the cursor, or -1 if there are no rows.
func (p *Rows) Cursor() int {
	n := p.content().Rows
	if n == 0 {
		return -1
	}
	return max(min(p.scroll.Cursor, n-1), 0)
}

// SetCursor puts the cursor on a row.
func (p *Rows) SetCursor(i int) { p.scroll.Cursor = max(i, 0) }

// ToTop scrolls to the beginning.
func (p *Rows) ToTop() { p.scroll, p.view, p.left = Scroll{}, View{}, 0 }

// Top returns the first visible line of a text.
func (p *Rows) Top() int { return p.view.Top }

// Height returns the number of visible rows.
func (p *Rows) Height() int { return p.height(p.content()) }

// SetTop brings a line of a text to the top, or as far up as the end of the text allows.
func (p *Rows) SetTop(i int) {
	c := p.content()
	p.view.Top = i
	p.view.Clamp(c.Rows, p.height(c))
}

// Reveal brings a line of a text into view.
func (p *Rows) Reveal(i int) {
	if h := p.Height(); i < p.view.Top || i >= p.view.Top+h {
		p.SetTop(i - h/2)
	}
}

// AtEnd reports whether the last line of a text is in view.
func (p *Rows) AtEnd() bool {
	c := p.content()
	return p.view.Top+p.height(c) >= c.Rows
}

// height returns the number of visible rows.
func (p *Rows) height(c Content) int {
	return max(p.h-2-len(c.Head)-len(p.foot(c)), 1)
}

// foot returns the lines of the foot that fit.
func (p *Rows) foot(c Content) []string {
	const few = 4
	if c.Foot == nil || c.Rows == 0 {
		return nil
	}
	foot := c.Foot(max(min(p.scroll.Cursor, c.Rows-1), 0))
	return foot[:max(min(len(foot), p.h-2-len(c.Head)-few), 0)]
}

// Handle runs a motion. It reports whether the contents support it.
func (p *Rows) Handle(id keys.ID) (tea.Cmd, bool) {
	c := p.content()
	switch {
	case !c.Text:
		return nil, p.scroll.Move(id, c.Rows, p.height(c))
	case id == keys.Left:
		p.left = max(p.left-sideways, 0)
	case id == keys.Right:
		p.left += sideways
	default:
		return nil, p.view.Move(id, c.Rows, p.height(c))
	}
	return nil, true
}

// Click puts the cursor on the row at a cell of the pane. It reports whether there is one.
func (p *Rows) Click(_, y int) bool {
	c := p.content()
	i := y - 1 - len(c.Head)
	if c.Text || i < 0 || i >= p.height(c) || p.scroll.Top+i >= c.Rows {
		return false
	}
	p.scroll.Cursor = p.scroll.Top + i
	return true
}

// Find goes to the next row with a text, in the direction of step (1 or -1) and wrapping around. Case is ignored.
// With here the current row counts too. It reports whether there is such a row.
func (p *Rows) Find(text string, step int, here bool) bool {
	c := p.content()
	p.find = text
	if text == "" || c.Rows == 0 {
		return false
	}
	at := &p.scroll.Cursor
	if c.Text {
		at = &p.view.Top
	}
	from := max(min(*at, c.Rows-1), 0)
	if !here {
		from += step
	}
	i := Find(text, c.Rows, from, step, func(i int) string {
		r := c.Row(i)
		return cmp.Or(r.Full, r.Text)
	})
	if i >= 0 {
		*at = i
	}
	return i >= 0
}

// Sought returns the text of the last search.
func (p *Rows) Sought() string { return p.find }

// Render draws the pane.
func (p *Rows) Render(focused bool) []string {
	c, look := p.content(), p.look()
	inner, rows := max(p.w-2, 0), p.height(c)
	lines := append([]string(nil), c.Head...)
	if c.Text {
		p.view.Clamp(c.Rows, rows)
	} else {
		p.scroll.Clamp(c.Rows, rows)
	}
	if c.Rows == 0 {
		lines = append(lines, c.Empty...)
	} else if c.Text {
		lines = append(lines, p.text(c, rows, inner)...)
	} else {
		lines = append(lines, p.list(c, rows, inner, focused, look)...)
	}
	if foot := p.foot(c); len(foot) > 0 {
		lines = append(draw.Block(lines, inner, len(c.Head)+rows), foot...)
	}
	note := c.Note
	if c.Counted && c.Rows > 0 || note == "" && c.Rows > rows {
		note = p.where(c, rows) + note
	}
	return look.Box(lines, c.Title, note, p.w, p.h, focused)
}

func (p *Rows) where(c Content, rows int) string {
	if c.Text {
		return p.look().Words.Phrase("%d-%d of %d", p.view.Top+1, min(p.view.Top+rows, c.Rows), c.Rows)
	}
	return p.look().Words.Phrase("%d of %d", p.scroll.Cursor+1, c.Rows)
}

func (p *Rows) text(c Content, rows, inner int) []string {
	var lines []string
	for i := p.view.Top; i < min(p.view.Top+rows, c.Rows); i++ {
		r := c.Row(i)
		line := r.Text
		if p.left > 0 {
			line = ansi.TruncateLeft(line, p.left, "")
		}
		line = draw.Fit(" "+line, inner)
		if r.Style != nil {
			line = r.Style(line)
		}
		lines = append(lines, line)
	}
	return lines
}

func (p *Rows) list(c Content, rows, inner int, focused bool, look theme.Theme) []string {
	var lines []string
	for i := p.scroll.Top; i < min(p.scroll.Top+rows, c.Rows); i++ {
		r := c.Row(i)
		cursor := " "
		if i == p.scroll.Cursor {
			cursor = ">"
		}
		if !c.NoMarks {
			cursor += draw.Fit(r.Mark, 1)
		}
		line := draw.Fit(cursor+" "+r.Text, inner)
		switch {
		case i == p.scroll.Cursor && focused:
			line = look.Selected(line)
		case r.Style != nil:
			line = r.Style(line)
		}
		lines = append(lines, line)
	}
	return lines
}
