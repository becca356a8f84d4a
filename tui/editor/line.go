package editor

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
)

// MaxLineBytes limits the text.
const MaxLineBytes = 4096

// Line is a line that the user types into: text and a cursor. It does no I/O; its user calls for the parts to draw. The
// zero Line is empty.
//
// It does not use the textinput of charmbracelet/bubbles (tried with v1.0.0). That one shows its cursor by colour
// alone, so not at all under NO_COLOR; it keeps characters that reorder a line; and it edits only by keys of its own,
// while kx's keys are commands that the user can remap. An adapter would be as long as this file.
type Line struct {
	runes []rune
	at    int // the rune that the cursor is on
	// proposed marks the text as a proposal: typing replaces it, and editing accepts it as the user's.
	proposed bool
}

// String returns the text.
func (l *Line) String() string { return string(l.runes) }

// Set replaces the text. The cursor goes to its end.
func (l *Line) Set(s string) {
	l.runes = []rune(draw.Clean(s))
	l.at = len(l.runes)
	l.proposed = false
}

// Propose sets a text that the user may accept, edit, or replace by typing.
func (l *Line) Propose(s string) {
	l.Set(s)
	l.proposed = s != ""
}

// Insert puts text at the cursor, or in place of a proposal. It reports whether it fits.
func (l *Line) Insert(text []rune) bool {
	added := []rune(draw.Clean(string(text)))
	if l.proposed {
		l.Set("")
	}
	if len(l.String())+len(string(added)) > MaxLineBytes {
		return false
	}
	l.runes = slices.Insert(l.runes, l.at, added...)
	l.at += len(added)
	return true
}

// Handle runs a command that edits the line. It reports whether id is one.
func (l *Line) Handle(id keys.ID) bool {
	switch id {
	case keys.EditLeft:
		l.at = max(l.at-1, 0)
	case keys.EditRight:
		l.at = min(l.at+1, len(l.runes))
	case keys.EditHome:
		l.at = 0
	case keys.EditEnd:
		l.at = len(l.runes)
	case keys.EditBackspace:
		l.cut(max(l.at-1, 0), l.at)
	case keys.EditDelete:
		l.cut(l.at, min(l.at+1, len(l.runes)))
	case keys.EditDeleteWord:
		l.cut(l.before(unicode.IsSpace, func(r rune) bool { return !unicode.IsSpace(r) }), l.at)
	case keys.EditDeleteLine:
		l.cut(0, l.at)
	default:
		return false
	}
	l.proposed = false
	return true
}

// cut deletes the characters from i to j, and puts the cursor there.
func (l *Line) cut(i, j int) {
	l.runes = slices.Delete(l.runes, i, j)
	l.at = i
}

// before returns the beginning of the runs of characters before the cursor, matched from right to left.
func (l *Line) before(runs ...func(rune) bool) int {
	i := l.at
	for _, of := range runs {
		for i > 0 && of(l.runes[i-1]) {
			i--
		}
	}
	return i
}

// Before returns the text before the cursor.
func (l *Line) Before() string { return string(l.runes[:l.at]) }

// View draws the line in w cells, with the cursor as a mark that needs no colour. It scrolls to keep the cursor
// visible.
func (l *Line) View(w int) string {
	if w <= 0 {
		return ""
	}
	before, after := string(l.runes[:l.at]), string(l.runes[l.at:])
	if l.proposed {
		before = "[" + before + "]"
	}
	for draw.Width(before)+1 > w && before != "" {
		_, n := utf8.DecodeRuneInString(before)
		before = before[n:]
	}
	return draw.Fit(before+lineCursor+after, w)
}

// lineCursor is shown between characters.
const lineCursor = "▏"
