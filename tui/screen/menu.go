package screen

import tea "github.com/charmbracelet/bubbletea"

// Menu is what can be done at a place, of which the user takes one.
type Menu struct {
	Title   string
	Choices []Choice
	// Typed is what is done with a text that is typed instead; nil if there is nothing to type but words of the choices. Its
	// error says what can be typed.
	Typed func(text string) (Choice, error)
	// Hint says what can be typed.
	Hint string
}

// Choice is one row of a menu.
type Choice struct {
	Title string // a few words
	Help  string // what it means
	// Why is why it can't be done now; empty if it can.
	Why string
	Do  func() tea.Cmd
}
