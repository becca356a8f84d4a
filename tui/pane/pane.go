package pane

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
)

// Pane is a part of the screen.
type Pane interface {
	// SetSize sets the size of the pane with its frame.
	SetSize(w, h int)
	// Handle runs a motion, and reports whether id is one.
	Handle(id keys.ID) (tea.Cmd, bool)
	// Click handles a press of the left button at a cell of the pane. It reports whether it moved a cursor there.
	Click(x, y int) bool
	Render(focused bool) []string
}

// Frame caches the last drawn lines, with the key that they depend on.
type Frame[K comparable] struct {
	lines []string
	of    K
}

// Draw returns the cached lines, or draws anew if the key changed.
func (f *Frame[K]) Draw(of K, anew func() []string) []string {
	if f.lines == nil || of != f.of {
		f.lines, f.of = anew(), of
	}
	return f.lines
}

// Scroll is a cursor among rows, and a window that follows it.
type Scroll struct{ Cursor, Top int }

// Move runs a motion among n rows, h of them in view. It reports whether id is a motion.
func (s *Scroll) Move(id keys.ID, n, h int) bool {
	if !move(&s.Cursor, id, n-1, h) {
		return false
	}
	s.Clamp(n, h)
	return true
}

// Clamp keeps the cursor among n rows, and the window around the cursor.
func (s *Scroll) Clamp(n, h int) {
	s.Cursor = max(min(s.Cursor, n-1), 0)
	h = max(h, 1)
	s.Top = max(min(s.Top, n-h), 0)
	s.Top = max(min(s.Top, s.Cursor), s.Cursor-h+1)
}

// View is a window on lines that have no cursor.
type View struct{ Top int }

// Move runs a motion among n lines, h of them in view. It reports whether id is a motion.
func (v *View) Move(id keys.ID, n, h int) bool {
	if !move(&v.Top, id, n, h) {
		return false
	}
	v.Clamp(n, h)
	return true
}

// Clamp keeps the window on the lines.
func (v *View) Clamp(n, h int) { v.Top = max(min(v.Top, n-max(h, 1)), 0) }

// move runs a motion from a row, where h rows are in view. It reports whether id is one.
func move(at *int, id keys.ID, last, h int) bool {
	half := max(h/2, 1)
	switch id {
	case keys.Down:
		*at++
	case keys.Up:
		*at--
	case keys.Top:
		*at = 0
	case keys.Bottom:
		*at = last
	case keys.HalfDown:
		*at += half
	case keys.HalfUp:
		*at -= half
	default:
		return false
	}
	return true
}

// Find returns the first of n rows with a text, starting at from in the direction of step (1 or -1) and wrapping
// around; -1 if there is none. Case is ignored.
func Find(text string, n, from, step int, row func(i int) string) int {
	text = strings.ToLower(text)
	for k := range n {
		i := ((from+k*step)%n + n) % n
		if strings.Contains(strings.ToLower(row(i)), text) {
			return i
		}
	}
	return -1
}

// wheelRows is the number of rows that a turn of the wheel scrolls.
const wheelRows = 3

// Wheel moves for a turn of the wheel: down for 1, up for -1.
func Wheel(turn int, move func(keys.ID)) {
	id := keys.Down
	if turn < 0 {
		id = keys.Up
	}
	for range wheelRows {
		move(id)
	}
}
