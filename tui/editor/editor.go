package editor

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/tui/keys"
)

// Bounds of a text, and of the undo history.
const (
	BytesMost = 1 << 20
	undoMost  = 1000
)

// pos is a place in the text: a line and a byte in it, at the start of a character.
type pos struct{ line, at int }

// Editor is a text with a cursor. The zero Editor is empty.
type Editor struct {
	lines   []string // never empty once it is used
	bytes   int
	version int

	cursor pos
	column int // where up and down want to go, in characters; -1 for where the cursor is

	undo, redo []change

	w, h, top, left int
}

// change is an entry for undo: at from, added replaced removed.
type change struct {
	from           pos
	removed, added string
	typed          bool // one character after another: they are undone together
}

// String returns the text.
func (e *Editor) String() string { return strings.Join(e.lines, "\n") }

// Version differs after every change.
func (e *Editor) Version() int { return e.version }

// Empty reports whether the text is only spaces.
func (e *Editor) Empty() bool {
	for _, l := range e.lines {
		if strings.TrimSpace(l) != "" {
			return false
		}
	}
	return true
}

// Bytes returns the length of the text.
func (e *Editor) Bytes() int { return e.bytes }

// Line returns the line of the cursor; the first is 1.
func (e *Editor) Line() int { return e.cursor.line + 1 }

// Lines returns the number of lines.
func (e *Editor) Lines() int { return max(len(e.lines), 1) }

// Go puts the cursor on a line and a column, which begin with 1.
func (e *Editor) Go(line, column int) {
	e.init()
	e.cursor.line = max(min(line-1, len(e.lines)-1), 0)
	e.cursor.at, e.column = byteOf(e.lines[e.cursor.line], column-1), -1
}

// Set replaces the text, and can be undone. It reports whether the text fits.
func (e *Editor) Set(text string) bool {
	text = ends(text)
	if len(text) > BytesMost {
		return false
	}
	e.init()
	if text == e.String() {
		return true
	}
	e.change(pos{}, e.end(), text, false)
	e.cursor, e.column, e.top, e.left = pos{}, -1, 0, 0
	return true
}

// Reset replaces the text and clears the undo history.
func (e *Editor) Reset(text string) bool {
	if !e.Set(text) {
		return false
	}
	e.undo, e.redo = nil, nil
	return true
}

// ends turns all line ends into \n.
func ends(text string) string {
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return text
}

func (e *Editor) init() {
	if len(e.lines) == 0 {
		e.lines = []string{""}
	}
}

func (e *Editor) end() pos {
	last := len(e.lines) - 1
	return pos{last, len(e.lines[last])}
}

// Insert inserts text at the cursor. It reports whether it fits.
func (e *Editor) Insert(runes []rune) bool {
	e.init()
	text := ends(string(runes))
	if e.bytes+len(text) > BytesMost {
		return false
	}
	e.cursor = e.change(e.cursor, e.cursor, text, len(runes) == 1 && text != "\n")
	e.column = -1
	return true
}

// Newline ends the line. The next one gets the same indentation, and more after a colon, where YAML nests.
func (e *Editor) Newline() bool {
	e.init()
	before := e.lines[e.cursor.line][:e.cursor.at]
	indent := before[:len(before)-len(strings.TrimLeft(before, " "))]
	code, _, _ := strings.Cut(before, " #")
	if strings.HasSuffix(strings.TrimRight(code, " "), ":") {
		indent += "  "
	}
	return e.Insert([]rune("\n" + indent))
}

// between returns the text between two places.
func (e *Editor) between(from, to pos) string {
	if from.line == to.line {
		return e.lines[from.line][from.at:to.at]
	}
	var b strings.Builder
	b.WriteString(e.lines[from.line][from.at:])
	for _, l := range e.lines[from.line+1 : to.line] {
		b.WriteString("\n" + l)
	}
	b.WriteString("\n" + e.lines[to.line][:to.at])
	return b.String()
}

// change replaces the text between two places, records that for undo, and returns the end of the new text.
func (e *Editor) change(from, to pos, added string, typed bool) pos {
	c := change{from: from, removed: e.between(from, to), added: added, typed: typed}
	if c.removed == "" && added == "" {
		return from
	}
	e.redo = nil
	if n := len(e.undo); typed && n > 0 && e.undo[n-1].follows(c) {
		e.undo[n-1].added += added
	} else {
		e.undo = append(e.undo, c)
		if len(e.undo) > undoMost {
			e.undo = append([]change(nil), e.undo[1:]...)
		}
	}
	return e.replace(from, to, added)
}

// follows reports whether a typed character continues the word of the change before.
func (c *change) follows(next change) bool {
	return c.typed && next.removed == "" && !strings.HasSuffix(c.added, " ") &&
		next.from == (pos{c.from.line, c.from.at + len(c.added)})
}

// replace replaces the text between two places without recording it.
func (e *Editor) replace(from, to pos, added string) pos {
	e.bytes += len(added) - len(e.between(from, to))
	e.version++
	parts := strings.Split(added, "\n")
	end := pos{from.line + len(parts) - 1, len(parts[len(parts)-1])}
	if len(parts) == 1 {
		end.at += from.at
	}
	parts[0] = e.lines[from.line][:from.at] + parts[0]
	parts[len(parts)-1] += e.lines[to.line][to.at:]
	if len(parts) == to.line-from.line+1 {
		copy(e.lines[from.line:], parts)
		return end
	}
	rest := e.lines[to.line+1:]
	lines := make([]string, 0, from.line+len(parts)+len(rest))
	lines = append(append(append(lines, e.lines[:from.line]...), parts...), rest...)
	e.lines = lines
	return end
}

// Undo undoes the last change. It reports whether there was one.
func (e *Editor) Undo() bool {
	n := len(e.undo)
	if n == 0 {
		return false
	}
	c := e.undo[n-1]
	e.undo, e.redo = e.undo[:n-1], append(e.redo, c)
	e.cursor = e.replace(c.from, endOf(c.from, c.added), c.removed)
	e.column = -1
	return true
}

// Redo repeats the change that was undone last. It reports whether there was one.
func (e *Editor) Redo() bool {
	n := len(e.redo)
	if n == 0 {
		return false
	}
	c := e.redo[n-1]
	e.redo, e.undo = e.redo[:n-1], append(e.undo, c)
	e.cursor = e.replace(c.from, endOf(c.from, c.removed), c.added)
	e.column = -1
	return true
}

// endOf returns the end of a text that begins at a place.
func endOf(from pos, text string) pos {
	lines := strings.Count(text, "\n")
	if lines == 0 {
		return pos{from.line, from.at + len(text)}
	}
	return pos{from.line + lines, len(text) - strings.LastIndexByte(text, '\n') - 1}
}

// Handle runs a command that moves or edits. It reports whether id is one.
func (e *Editor) Handle(id keys.ID) bool {
	e.init()
	if e.vertical(id) {
		return true
	}
	line := e.lines[e.cursor.line]
	switch id {
	case keys.EditLeft, keys.Left:
		e.cursor = e.before(e.cursor)
	case keys.EditRight, keys.Right:
		e.cursor = e.after(e.cursor)
	case keys.EditHome:
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if e.cursor.at == indent {
			indent = 0
		}
		e.cursor.at = indent
	case keys.EditEnd:
		e.cursor.at = len(line)
	case keys.EditBackspace:
		e.cursor = e.change(e.before(e.cursor), e.cursor, "", false)
	case keys.EditDelete:
		e.change(e.cursor, e.after(e.cursor), "", false)
	case keys.EditDeleteWord:
		e.cursor = e.change(e.wordStart(), e.cursor, "", false)
	case keys.EditDeleteLine:
		e.cursor = e.change(pos{e.cursor.line, 0}, e.cursor, "", false)
	default:
		return false
	}
	e.column = -1
	return true
}

// vertical moves up and down.
func (e *Editor) vertical(id keys.ID) bool {
	by := 0
	switch id {
	case keys.Up:
		by = -1
	case keys.Down:
		by = 1
	case keys.HalfUp:
		by = -max(e.h/2, 1)
	case keys.HalfDown:
		by = max(e.h/2, 1)
	case keys.Top:
		by = -len(e.lines)
	case keys.Bottom:
		by = len(e.lines)
	default:
		return false
	}
	if e.column < 0 {
		e.column = utf8.RuneCountInString(e.lines[e.cursor.line][:e.cursor.at])
	}
	e.cursor.line = max(min(e.cursor.line+by, len(e.lines)-1), 0)
	e.cursor.at = byteOf(e.lines[e.cursor.line], e.column)
	return true
}

// byteOf returns the byte at which the n-th character begins, or the end.
func byteOf(line string, n int) int {
	for i := range line {
		if n <= 0 {
			return i
		}
		n--
	}
	if n < 0 {
		return 0
	}
	return len(line)
}

// before returns the place of the character before p; the end of a line comes before the next line.
func (e *Editor) before(p pos) pos {
	switch {
	case p.at > 0:
		_, n := utf8.DecodeLastRuneInString(e.lines[p.line][:p.at])
		return pos{p.line, p.at - n}
	case p.line > 0:
		return pos{p.line - 1, len(e.lines[p.line-1])}
	}
	return p
}

// after returns the place after the character at p.
func (e *Editor) after(p pos) pos {
	switch {
	case p.at < len(e.lines[p.line]):
		_, n := utf8.DecodeRuneInString(e.lines[p.line][p.at:])
		return pos{p.line, p.at + n}
	case p.line < len(e.lines)-1:
		return pos{p.line + 1, 0}
	}
	return p
}

// wordStart returns the beginning of the word before the cursor.
func (e *Editor) wordStart() pos {
	if e.cursor.at == 0 {
		return e.before(e.cursor)
	}
	text := strings.TrimRightFunc(e.lines[e.cursor.line][:e.cursor.at], unicode.IsSpace)
	text = strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
	return pos{e.cursor.line, len(text)}
}
