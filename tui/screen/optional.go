package screen

import (
	"encoding/json"

	tea "github.com/charmbracelet/bubbletea"
)

// What a screen may have besides. The program looks for it in each screen.
type (
	// Facts is a screen that knows something about the whole server, such as its revision.
	Facts interface {
		// Facts are what the header says about the server: a few words each, the most important first.
		Facts() []string
	}

	// Leaver is a screen with something that ends with the program, such as held requests.
	Leaver interface {
		// Leaving tells the user what they lose by quitting. Empty if nothing.
		Leaving() string
	}

	// Returner is a screen that repeats what failed once the server answers again.
	Returner interface{ Returned() tea.Cmd }

	// Keeper is a screen that remembers something from one run to the next.
	Keeper interface {
		// Keep returns what to remember, for JSON; nil for nothing. The program calls it as it ends.
		Keep() any
		// Restore takes back what an earlier run kept, before the screen is first shown. Its error says what it could not use.
		Restore(kept json.RawMessage) error
	}
)
