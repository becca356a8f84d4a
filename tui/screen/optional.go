package screen

import (
	"encoding/json"

	tea "github.com/charmbracelet/bubbletea"
)

// What a screen may have beside being one. The program asks each screen for it.
type (
	// Facts is a screen that knows something of the server as a whole, such as its revision.
	Facts interface {
		// Facts are what the header says of the server, a few words each, the most important first.
		Facts() []string
	}

	// Leaver is a screen that has something that ends with the program, such as held requests.
	Leaver interface {
		// Leaving is what the user is told before the program is left: what he would lose. Empty if nothing.
		Leaving() string
	}

	// Returner is a screen that asks again what failed, when the server answers again after it did not.
	Returner interface{ Returned() tea.Cmd }

	// Keeper is a screen that remembers something from one run to the next.
	Keeper interface {
		// Keep is what is remembered, as it can be written as JSON; nil for nothing. It is asked when the program ends.
		Keep() any
		// Restore takes what was kept, before the screen is shown the first time. What it can't use it leaves, and says why.
		Restore(kept json.RawMessage) error
	}
)
