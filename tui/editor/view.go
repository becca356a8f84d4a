package editor

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/tui/draw"
)

// Look styles parts of the text. A nil function leaves its part unstyled.
type Look struct {
	Dim, Bad func(string) string
	// Marked reports whether a line has a problem; the first is 1.
	Marked func(line int) bool
	// Cursor shows the cursor, while the user types.
	Cursor bool
}

// cursor is shown between characters, as in single-line inputs.
const cursor = "▏"

// SetSize sets the size of the window.
func (e *Editor) SetSize(w, h int) { e.w, e.h = w, h }

// Press puts the cursor on a cell of the window.
func (e *Editor) Press(x, y int) {
	e.init()
	line := max(min(e.top+y, len(e.lines)-1), 0)
	cells := x - e.gutter() + e.left
	at := 0
	for at < len(e.lines[line]) {
		next := e.after(pos{line, at}).at
		if draw.Width(draw.Clean(e.lines[line][:next])) > cells {
			break
		}
		at = next
	}
	e.cursor, e.column = pos{line, at}, -1
}

// gutter returns the width of the line numbers.
func (e *Editor) gutter() int {
	if e.w < 24 {
		return 0
	}
	return max(len(strconv.Itoa(len(e.lines))), 2) + 2
}

// follow moves the window to the cursor.
func (e *Editor) follow() {
	h := max(e.h, 1)
	e.top = max(min(e.top, len(e.lines)-h), 0)
	if e.cursor.line < e.top {
		e.top = e.cursor.line
	}
	if e.cursor.line >= e.top+h {
		e.top = e.cursor.line - h + 1
	}
	room := max(e.w-e.gutter()-1, 1) // the cursor has a cell
	at := draw.Width(draw.Clean(e.lines[e.cursor.line][:e.cursor.at]))
	if at < e.left {
		e.left = at
	}
	if at > e.left+room {
		e.left = at - room
	}
	if at <= room {
		e.left = 0
	}
}

// Render returns the visible part: h lines of w cells. A marked line begins with "!", that of the cursor with ">".
func (e *Editor) Render(look Look) []string {
	e.init()
	e.follow()
	out := make([]string, 0, max(e.h, 0))
	g := e.gutter()
	for i := e.top; i < len(e.lines) && len(out) < e.h; i++ {
		out = append(out, draw.Fit(e.number(i, g, look)+e.text(i, e.w-g, look), e.w))
	}
	return draw.Block(out, e.w, e.h)
}

// number draws the line number.
func (e *Editor) number(i, g int, look Look) string {
	if g == 0 {
		return ""
	}
	mark := " "
	if i == e.cursor.line && look.Cursor {
		mark = ">"
	}
	number := draw.FitRight(strconv.Itoa(i+1), g-2)
	if look.Marked != nil && look.Marked(i+1) {
		return paint(look.Bad, "!"+number) + mark
	}
	return paint(look.Dim, " "+number) + mark
}

// lookMost limits the part of a line that is processed beyond its visible beginning.
const lookMost = 4096

// text draws the visible part of a line.
func (e *Editor) text(i, w int, look Look) string {
	if w <= 0 {
		return ""
	}
	line := e.lines[i]
	if most := e.left*4 + w*4 + lookMost; len(line) > most && !(i == e.cursor.line && e.cursor.at >= most) {
		line = strings.ToValidUTF8(line[:most], "")
	}
	shown := draw.Clean(line)
	comment := strings.HasPrefix(strings.TrimLeft(shown, " "), "#")
	if i == e.cursor.line && look.Cursor {
		before := draw.Clean(e.lines[i][:e.cursor.at])
		shown = before + cursor + strings.TrimPrefix(shown, before)
	}
	if e.left > 0 {
		shown = ansi.TruncateLeft(shown, e.left, "")
	}
	if draw.Width(shown) > w {
		shown = ansi.Truncate(shown, w, draw.Ellipsis)
	}
	if comment {
		return paint(look.Dim, shown)
	}
	if at := strings.Index(shown, "  # "); at >= 0 {
		return shown[:at] + paint(look.Dim, shown[at:])
	}
	return shown
}

func paint(with func(string) string, text string) string {
	if with == nil || text == "" {
		return text
	}
	return with(text)
}
