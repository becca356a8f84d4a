package prompt

import (
	"unicode"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
)

// MaxBytes is how long the text may get.
const MaxBytes = 4096

// Line is text with a cursor in it. The zero Line is empty.
type Line struct {
	runes []rune
	at    int // the rune that the cursor is on
}

// String is the text.
func (l *Line) String() string { return string(l.runes) }

// Cursor is the column of the cursor; the first is 1.
func (l *Line) Cursor() int { return l.at + 1 }

// Set replaces the text. The cursor goes to its end.
func (l *Line) Set(s string) {
	l.runes = []rune(draw.Clean(s))
	l.at = len(l.runes)
}

// Insert puts text at the cursor. It says whether there was room.
func (l *Line) Insert(text []rune) bool {
	added := []rune(draw.Clean(string(text)))
	if len(l.String())+len(string(added)) > MaxBytes {
		return false
	}
	rest := append(added, l.runes[l.at:]...)
	l.runes = append(l.runes[:l.at:l.at], rest...)
	l.at += len(added)
	return true
}

// Handle does a command that edits a line. It says whether id is one.
func (l *Line) Handle(id keys.ID) bool {
	switch id {
	case keys.EditLeft:
		l.Left()
	case keys.EditRight:
		l.Right()
	case keys.EditHome:
		l.Home()
	case keys.EditEnd:
		l.End()
	case keys.EditBackspace:
		l.Backspace()
	case keys.EditDelete:
		l.Delete()
	case keys.EditDeleteWord:
		l.DeleteWord()
	case keys.EditDeleteLine:
		l.DeleteToStart()
	default:
		return false
	}
	return true
}

// Left moves the cursor one character to the left.
func (l *Line) Left() { l.at = max(l.at-1, 0) }

// Right moves the cursor one character to the right.
func (l *Line) Right() { l.at = min(l.at+1, len(l.runes)) }

// Home moves the cursor to the beginning.
func (l *Line) Home() { l.at = 0 }

// End moves the cursor behind the last character.
func (l *Line) End() { l.at = len(l.runes) }

// Backspace deletes the character before the cursor.
func (l *Line) Backspace() { l.cut(l.at - 1) }

// Delete deletes the character at the cursor.
func (l *Line) Delete() {
	if l.at < len(l.runes) {
		l.at++
		l.cut(l.at - 1)
	}
}

// DeleteToStart deletes what is before the cursor.
func (l *Line) DeleteToStart() { l.cut(0) }

// DeleteWord deletes the word before the cursor.
func (l *Line) DeleteWord() {
	i := l.at
	for i > 0 && unicode.IsSpace(l.runes[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(l.runes[i-1]) {
		i--
	}
	l.cut(i)
}

// cut deletes from i to the cursor.
func (l *Line) cut(i int) {
	if i < 0 {
		return
	}
	l.runes = append(l.runes[:i:i], l.runes[l.at:]...)
	l.at = i
}

// Before is the text before the cursor.
func (l *Line) Before() string { return string(l.runes[:l.at]) }

// Word is the run of letters that ends at the cursor.
func (l *Line) Word() string {
	i := l.at
	for i > 0 && unicode.IsLetter(l.runes[i-1]) {
		i--
	}
	return string(l.runes[i:l.at])
}

// View is the line in w cells, with the cursor as a mark that needs no colour. It scrolls so that the cursor is seen.
func (l *Line) View(w int) string {
	if w <= 0 {
		return ""
	}
	before, after := string(l.runes[:l.at]), string(l.runes[l.at:])
	for draw.Width(before)+1 > w && before != "" {
		_, n := utf8.DecodeRuneInString(before)
		before = before[n:]
	}
	return draw.Fit(before+cursor+after, w)
}

// cursor is shown between characters.
const cursor = "▏"
