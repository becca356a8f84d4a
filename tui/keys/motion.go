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
	Grow         ID = "pane.grow"
	Shrink       ID = "pane.shrink"
	Copy         ID = "copy"
)

// The commands that edit a line, in every context that types.
const (
	EditLeft       ID = "edit.left"
	EditRight      ID = "edit.right"
	EditHome       ID = "edit.home"
	EditEnd        ID = "edit.end"
	EditBackspace  ID = "edit.backspace"
	EditDelete     ID = "edit.delete"
	EditDeleteWord ID = "edit.delete-word"
	EditDeleteLine ID = "edit.delete-line"
)

// Shared are the commands that the screens need not list: they have them in each of the contexts in which none of the
// screens' own commands has one of their keys.
func Shared(contexts []Context, own []Command) []Command {
	taken := map[Context]map[string]bool{}
	for _, c := range own {
		for _, ctx := range c.Contexts {
			if taken[ctx] == nil {
				taken[ctx] = map[string]bool{}
			}
			for _, key := range c.Keys {
				taken[ctx][key] = true
			}
		}
	}
	var all []Command
	for _, s := range shared() {
		for _, ctx := range contexts {
			if s.in.has(ctx) && !anyOf(taken[ctx], s.Keys) {
				s.Contexts = append(s.Contexts, ctx)
			}
		}
		all = append(all, s.Command)
	}
	return all
}

func anyOf(taken map[string]bool, keys []string) bool {
	for _, key := range keys {
		if taken[key] {
			return true
		}
	}
	return false
}

// kind is in which contexts a shared command is.
type kind uint8

const (
	places kind = 1 << iota
	lines
	both = places | lines
)

func (k kind) has(ctx Context) bool {
	if ctx.Typing {
		return k&lines != 0
	}
	return k&places != 0
}

type sharedCommand struct {
	in kind
	Command
}

func shared() []sharedCommand {
	return []sharedCommand{
		{places, Command{ID: Open, Title: "open", Help: "Open what is under the cursor.", Hint: "open", Keys: []string{"enter"}}},
		{places, Command{ID: NextPane, Title: "go to the next pane", Help: "The next pane of this screen, and after the last the first.", Hint: "pane", Keys: []string{"tab"}}},
		{places, Command{ID: PreviousPane, Title: "go to the previous pane", Help: "The previous pane of this screen, and before the first the last.", Keys: []string{"shift+tab"}}},
		{places, Command{ID: Zoom, Title: "zoom the pane, or no longer", Help: "Give the pane the place of all, or take it back.", Hint: "zoom", Keys: []string{"z"}}},
		{places, Command{ID: Grow, Title: "make the pane larger", Help: "Move a border of the pane outwards. The next run has it too.", Keys: []string{"+"}}},
		{places, Command{ID: Shrink, Title: "make the pane smaller", Help: "Move a border of the pane inwards. The next run has it too.", Keys: []string{"-"}}},
		{places, Command{ID: Copy, Title: "copy", Help: "Put what is under the cursor on the clipboard (OSC 52, works over SSH).", Hint: "copy", Keys: []string{"y"}}},
		{both, Command{ID: Down, Title: "go down", Help: "One row down.", Keys: []string{"j", "down"}, Motion: true}},
		{both, Command{ID: Up, Title: "go up", Help: "One row up.", Keys: []string{"k", "up"}, Motion: true}},
		{places, Command{ID: Top, Title: "go to the first row", Help: "To the first row.", Keys: []string{"g", "home"}, Motion: true}},
		{places, Command{ID: Bottom, Title: "go to the last row", Help: "To the last row.", Keys: []string{"G", "end"}, Motion: true}},
		{places, Command{ID: HalfDown, Title: "go down half a page", Help: "Half a page down.", Keys: []string{"ctrl+d", "pgdown"}, Motion: true}},
		{places, Command{ID: HalfUp, Title: "go up half a page", Help: "Half a page up.", Keys: []string{"ctrl+u", "pgup"}, Motion: true}},
		{places, Command{ID: Left, Title: "go left, or fold", Help: "To the left, or out of what was gone into.", Keys: []string{"h", "left"}, Motion: true}},
		{places, Command{ID: Right, Title: "go right, or unfold", Help: "To the right, or into what is under the cursor.", Keys: []string{"l", "right"}, Motion: true}},
		{lines, Command{ID: EditLeft, Title: "go left in the line", Help: "One character to the left.", Keys: []string{"left", "ctrl+b"}}},
		{lines, Command{ID: EditRight, Title: "go right in the line", Help: "One character to the right.", Keys: []string{"right", "ctrl+f"}}},
		{lines, Command{ID: EditHome, Title: "go to the line's beginning", Help: "To the beginning of the line.", Keys: []string{"home", "ctrl+a"}}},
		{lines, Command{ID: EditEnd, Title: "go to the line's end", Help: "To the end of the line.", Keys: []string{"end", "ctrl+e"}}},
		{lines, Command{ID: EditBackspace, Title: "delete a character", Help: "Delete the character before the cursor.", Keys: []string{"backspace", "ctrl+h"}}},
		{lines, Command{ID: EditDelete, Title: "delete the next character", Help: "Delete the character at the cursor.", Keys: []string{"delete"}}},
		{lines, Command{ID: EditDeleteWord, Title: "delete a word", Help: "Delete the word before the cursor.", Keys: []string{"ctrl+w"}}},
		{lines, Command{ID: EditDeleteLine, Title: "delete the line", Help: "Delete what is before the cursor.", Hint: "clear", Keys: []string{"ctrl+u"}}},
	}
}
