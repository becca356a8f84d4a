package keys

// The commands that move, which every list of lines has.
const (
	Down     ID = "move.down"
	Up       ID = "move.up"
	Top      ID = "move.top"
	Bottom   ID = "move.bottom"
	HalfDown ID = "move.half-down"
	HalfUp   ID = "move.half-up"
	Left     ID = "move.left"
	Right    ID = "move.right"
)

// The commands that mean the same on every screen. What they are done to is the screen's.
const (
	// Back goes back from what was opened last.
	Back         ID = "back"
	Open         ID = "open"
	NextPane     ID = "pane.next"
	PreviousPane ID = "pane.previous"
	Zoom         ID = "pane.zoom"
	Copy         ID = "copy"
)

// Motions are the commands that move.
func Motions() []Command {
	in := []Context{List, Steps, Detail, Help, Palette}
	return []Command{
		{ID: Down, Title: "go down", Help: "One row down.", Contexts: in, Keys: []string{"j", "down"}, Motion: true},
		{ID: Up, Title: "go up", Help: "One row up.", Contexts: in, Keys: []string{"k", "up"}, Motion: true},
		{ID: Top, Title: "go to the first row", Help: "To the first row.", Contexts: in, Keys: []string{"g", "home"}, Motion: true},
		{ID: Bottom, Title: "go to the last row", Help: "To the last row.", Contexts: in, Keys: []string{"G", "end"}, Motion: true},
		{ID: HalfDown, Title: "go down half a page", Help: "Half a page down.", Contexts: in, Keys: []string{"ctrl+d", "pgdown"}, Motion: true},
		{ID: HalfUp, Title: "go up half a page", Help: "Half a page up.", Contexts: in, Keys: []string{"ctrl+u", "pgup"}, Motion: true},
	}
}
