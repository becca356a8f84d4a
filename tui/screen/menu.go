package screen

import tea "github.com/charmbracelet/bubbletea"

// Menu offers choices, of which the user takes one.
type Menu struct {
	Title   string
	Choices []Choice
	// Typed makes a choice of a text that the user types instead. Its error says what can be typed. nil: the user can type
	// only words of the choices.
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
