package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Menu offers choices, of which the user takes one.
type Menu struct {
	Title   string
	Choices []Choice
	// Typed makes a choice from a typed text that matches no choice. Its error explains which texts are possible.
	// nil: the user can only pick choices.
	Typed func(text string) (Choice, error)
	// Hint explains which texts can be typed.
	Hint string
}

// Choice is one row of a menu.
type Choice struct {
	Title string // a few words
	Help  string // its meaning
	// Why is the reason why the choice is disabled; empty if it is enabled.
	Why string
	Do  func() tea.Cmd
}

// Saver offers the forms in which requests can be saved: one, or two beside each other as one document.
type Saver func(shown ...*v1alpha1.Journey) tea.Cmd
