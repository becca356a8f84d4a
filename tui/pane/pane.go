package pane

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
)

// Pane is a part of the screen.
type Pane interface {
	// SetSize sets the size of the pane with its frame.
	SetSize(w, h int)
	// Handle does a motion or another command of the pane, and reports whether id is one.
	Handle(id keys.ID) (tea.Cmd, bool)
	// Click takes a press of the left button at a cell of the pane. It reports whether a cursor is there now.
	Click(x, y int) bool
	Render(focused bool) []string
}

// Scroll is a cursor among rows, and a window that follows it.
type Scroll struct{ Cursor, Top int }

// Move does one of the motions among n rows of which h are seen. It says whether id is a motion.
func (s *Scroll) Move(id keys.ID, n, h int) bool {
	half := max(h/2, 1)
	switch id {
	case keys.Down:
		s.Cursor++
	case keys.Up:
		s.Cursor--
	case keys.Top:
		s.Cursor = 0
	case keys.Bottom:
		s.Cursor = n - 1
	case keys.HalfDown:
		s.Cursor += half
	case keys.HalfUp:
		s.Cursor -= half
	default:
		return false
	}
	s.Clamp(n, h)
	return true
}

// Clamp brings the cursor among n rows, and the window to the cursor.
func (s *Scroll) Clamp(n, h int) {
	s.Cursor = max(min(s.Cursor, n-1), 0)
	h = max(h, 1)
	s.Top = max(min(s.Top, n-h), 0)
	if s.Cursor < s.Top {
		s.Top = s.Cursor
	}
	if s.Cursor >= s.Top+h {
		s.Top = s.Cursor - h + 1
	}
}

// View is a window on lines that have no cursor.
type View struct{ Top int }

// Move does one of the motions among n lines of which h are seen. It says whether id is a motion.
func (v *View) Move(id keys.ID, n, h int) bool {
	half := max(h/2, 1)
	switch id {
	case keys.Down:
		v.Top++
	case keys.Up:
		v.Top--
	case keys.Top:
		v.Top = 0
	case keys.Bottom:
		v.Top = n
	case keys.HalfDown:
		v.Top += half
	case keys.HalfUp:
		v.Top -= half
	default:
		return false
	}
	v.Clamp(n, h)
	return true
}

// Clamp keeps the window on the lines.
func (v *View) Clamp(n, h int) { v.Top = max(min(v.Top, n-max(h, 1)), 0) }

// wheelRows is how many rows a turn of the wheel goes.
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
