package keys

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
)

// The commands that move in every pane. A pane runs them by ID.
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

// The other commands of every screen.
const (
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

// SharedCommands returns the commands that every screen has without declaring them. do runs one. A command applies in
// each context where no command in own has one of its keys.
func SharedCommands(contexts []Context, own []Command, do func(ID) tea.Cmd) []Command {
	var all []Command
	for _, s := range shared() {
		s.Do = func() tea.Cmd { return do(s.ID) }
		for _, ctx := range contexts {
			if s.in.has(ctx) && !takes(own, ctx, s.Keys) {
				s.Contexts = append(s.Contexts, ctx)
			}
		}
		all = append(all, s.Command)
	}
	return all
}

// takes reports whether one of the commands has one of the keys in a context.
func takes(commands []Command, ctx Context, keys []string) bool {
	for i := range commands {
		if c := &commands[i]; c.AppliesIn(ctx) && slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(c.Keys, key) }) {
			return true
		}
	}
	return false
}

// kind decides in which contexts a shared command applies.
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
		{places, Command{ID: Open, Meaning: meaning("open", "enter"), Help: "Open what is under the cursor.", Hint: "open"}},
		{places, Command{ID: NextPane, Meaning: meaning("go to the next pane", "tab"),
			Help: "Go to the next pane of this screen. After the last comes the first.", Hint: "pane"}},
		{places, Command{ID: PreviousPane, Meaning: meaning("go to the previous pane", "shift+tab"),
			Help: "Go to the previous pane of this screen. Before the first comes the last."}},
		{places, Command{ID: Zoom, Meaning: meaning("zoom the pane, or stop", "z"),
			Help: "Give the pane the place of all panes, or take it back.", Hint: "zoom"}},
		{places, Command{ID: Grow, Meaning: meaning("make the pane larger", "+"),
			Help: "Move a border of the pane outwards. The next run remembers it."}},
		{places, Command{ID: Shrink, Meaning: meaning("make the pane smaller", "-"),
			Help: "Move a border of the pane inwards. The next run remembers it."}},
		{places, Command{ID: Copy, Meaning: meaning("copy", "y"),
			Help: "Copy what is under the cursor to the clipboard (OSC 52, works over SSH).", Hint: "copy"}},
		{both, Command{ID: Down, Meaning: motion("go down", "j", "down"), Help: "Go down one row."}},
		{both, Command{ID: Up, Meaning: motion("go up", "k", "up"), Help: "Go up one row."}},
		{places, Command{ID: Top, Meaning: motion("go to the first row", "g", "home"), Help: "Go to the first row."}},
		{places, Command{ID: Bottom, Meaning: motion("go to the last row", "G", "end"), Help: "Go to the last row."}},
		{places, Command{ID: HalfDown, Meaning: motion("go down half a page", "ctrl+d", "pgdown"), Help: "Go down half a page."}},
		{places, Command{ID: HalfUp, Meaning: motion("go up half a page", "ctrl+u", "pgup"), Help: "Go up half a page."}},
		{places, Command{ID: Left, Meaning: Outward, Help: "Go left, or leave what was entered last."}},
		{places, Command{ID: Right, Meaning: Inward, Help: "Go right, or enter what is under the cursor."}},
		{lines, Command{ID: EditLeft, Meaning: meaning("go left in the line", "left", "ctrl+b"), Help: "Go one character to the left."}},
		{lines, Command{ID: EditRight, Meaning: meaning("go right in the line", "right", "ctrl+f"),
			Help: "Go one character to the right."}},
		{lines, Command{ID: EditHome, Meaning: meaning("go to the line's beginning", "home", "ctrl+a"),
			Help: "Go to the beginning of the line."}},
		{lines, Command{ID: EditEnd, Meaning: meaning("go to the line's end", "end", "ctrl+e"), Help: "Go to the end of the line."}},
		{lines, Command{ID: EditBackspace, Meaning: meaning("delete a character", "backspace", "ctrl+h"),
			Help: "Delete the character before the cursor."}},
		{lines, Command{ID: EditDelete, Meaning: meaning("delete the next character", "delete"),
			Help: "Delete the character at the cursor."}},
		{lines, Command{ID: EditDeleteWord, Meaning: meaning("delete a word", "ctrl+w"), Help: "Delete the word before the cursor."}},
		{lines, Command{ID: EditDeleteLine, Meaning: meaning("delete to the line's beginning", "ctrl+u"),
			Help: "Delete the line up to the cursor.", Hint: "clear left"}},
	}
}
