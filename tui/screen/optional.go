package screen

import (
	"encoding/json"

	tea "github.com/charmbracelet/bubbletea"
)

// Optional interfaces of a screen. The program checks each screen for them.
type (
	// Facts is a screen that knows something about the whole server, such as its revision.
	Facts interface {
		// Facts lists texts for the header about the server: a few words each, the most important first.
		Facts() []string
	}

	// Opener is a screen on which enter does something else than to open what is under the cursor.
	Opener interface {
		// Opens returns the hint of enter; empty if it does nothing now.
		Opens() string
	}

	// QuitWarner is a screen with work that ends with the program, such as held requests.
	QuitWarner interface {
		// QuitWarning describes the loss that quitting causes; empty if there is none.
		QuitWarning() string
	}

	// Retrier is a screen that repeats failed requests once the server answers again.
	Retrier interface{ Retry() tea.Cmd }

	// Keeper is a screen that keeps state from one run to the next.
	Keeper interface {
		// Keep returns the state to keep, for JSON; nil for nothing. The program calls it as it ends.
		Keep() any
		// Restore takes the state of an earlier run, before the screen is first shown. Its error names the parts that
		// it could not use.
		Restore(kept json.RawMessage) error
	}
)
