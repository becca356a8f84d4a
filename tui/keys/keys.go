package keys

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// Context is a place where keys are pressed: a pane, or a line that the user types into. Each screen makes its own.
type Context struct {
	Name string
	// Typing reports that characters pressed there are text.
	Typing bool
	// Asks reports that digits pressed there answer a question.
	Asks bool
}

// Place is the context of a pane.
func Place(name string) Context { return Context{Name: name} }

// Line is the context of a line that the user types into.
func Line(name string) Context { return Context{Name: name, Typing: true} }

// Question is the context of a pane while it asks for the number of an answer.
func Question(name string) Context { return Context{Name: name, Asks: true} }

// None is no context.
var None Context

// String returns the context's name.
func (c Context) String() string { return c.Name }

// The contexts of the screen Capture.
var (
	List   = Place("list")
	Steps  = Place("steps")
	Detail = Place("detail")
	Filter = Line("filter")
)

// Panes are the panes of Capture.
var Panes = []Context{List, Steps, Detail}

// The contexts of the program around the screens.
var (
	Palette = Line("palette")
	Help    = Place("help")
	// InHelp is the line that narrows help.
	InHelp  = Line("find in help")
	Ask     = Line("question")
	Menu    = Line("menu")
	Confirm = Place("yes or no")
)

// ID names a command in the palette and in the user's file of keys.
type ID string

// Command is an action of the user. Its screen declares it, once.
type Command struct {
	ID ID
	// Meaning holds its title and its keys. The user may give it other keys.
	Meaning
	Help     string // a sentence
	Contexts []Context
	// Hint is its word in the line of hints. Commands without one are not hinted.
	Hint string
	// Next returns the hint while the user probably wants the command next. Such hints come first; empty leaves it
	// among the others. A nil Next is always empty.
	Next func() string
	// WhyNot returns the reason why the command is disabled now; empty if it is enabled. A nil WhyNot is always
	// empty.
	WhyNot func() string
	// Do runs the command. Slow work belongs into the tea.Cmd.
	Do func() tea.Cmd
}

// Call makes a Do of a function that is fast.
func Call(f func()) func() tea.Cmd {
	return func() tea.Cmd {
		f()
		return nil
	}
}

// Bind makes a Do, or a WhyNot, of a function and its argument.
func Bind[A, R any](f func(A) R, a A) func() R { return func() R { return f(a) } }

// RunAfter makes each of the commands run after at its end.
func RunAfter(commands []Command, after func() tea.Cmd) []Command {
	for i, do := range commands {
		commands[i].Do = func() tea.Cmd { return tea.Batch(do.Do(), after()) }
	}
	return commands
}

// DisabledReason returns the reason why the command is disabled now; empty if it is enabled.
func (c *Command) DisabledReason() string {
	if c.WhyNot == nil {
		return ""
	}
	return c.WhyNot()
}

// NextHint returns the command's hint while the user probably wants it next, or empty.
func (c *Command) NextHint() string {
	if c.Next == nil {
		return ""
	}
	return c.Next()
}

// AppliesIn reports whether the command applies in a context.
func (c *Command) AppliesIn(ctx Context) bool { return slices.Contains(c.Contexts, ctx) }

// KeysIn returns the keys that work in a context: where the user types, characters do not.
func (c *Command) KeysIn(ctx Context) []string {
	if !ctx.Typing {
		return c.Keys
	}
	var all []string
	for _, key := range c.Keys {
		if !printable(key) {
			all = append(all, key)
		}
	}
	return all
}

// FormatKeys formats keys for the screen.
func FormatKeys(keys ...string) string {
	var names []string
	for _, key := range keys {
		if key == " " {
			key = "space"
		}
		names = append(names, key)
	}
	return strings.Join(names, " ")
}

// Table holds all commands, in the order of help.
type Table struct {
	commands []*Command
	byKey    map[Context]map[string]*Command
	byID     map[ID]*Command
}

// New makes a table. It refuses two commands for one key in a context, and duplicate IDs.
func New(commands []Command) (*Table, error) {
	t := &Table{byKey: map[Context]map[string]*Command{}, byID: map[ID]*Command{}}
	for i := range commands {
		c := &commands[i]
		if t.byID[c.ID] != nil {
			return nil, fmt.Errorf("command %s is in the table twice", c.ID)
		}
		t.byID[c.ID] = c
		t.commands = append(t.commands, c)
		for _, ctx := range c.Contexts {
			if t.byKey[ctx] == nil {
				t.byKey[ctx] = map[string]*Command{}
			}
			for _, key := range c.KeysIn(ctx) {
				if other := t.byKey[ctx][key]; other != nil {
					return nil, fmt.Errorf("in %s, %q is both %s and %s", ctx, key, other.ID, c.ID)
				}
				t.byKey[ctx][key] = c
			}
		}
	}
	return t, nil
}

// printable reports whether a key is a character.
func printable(key string) bool { return utf8.RuneCountInString(key) == 1 }

// Resolve returns the command of a key in a context, or nil.
func (t *Table) Resolve(ctx Context, key string) *Command { return t.byKey[ctx][key] }

// Lookup finds a command, or nil.
func (t *Table) Lookup(id ID) *Command { return t.byID[id] }

// Commands lists all commands, in order.
func (t *Table) Commands() []*Command { return t.commands }

// CommandsIn lists the commands of a context, in order.
func (t *Table) CommandsIn(ctx Context) []*Command {
	var in []*Command
	for _, c := range t.commands {
		if c.AppliesIn(ctx) {
			in = append(in, c)
		}
	}
	return in
}
