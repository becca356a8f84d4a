package keys

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// Context is where a key is pressed: a pane, or a line that the user types into. Each screen makes its own.
type Context struct {
	Name string
	// Typing says that characters pressed there are text.
	Typing bool
	// Asks says that digits pressed there answer a question.
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

// String is the context's name.
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
	Ask     = Line("question")
	Menu    = Line("menu")
	Confirm = Place("yes or no")
)

// ID names a command in the palette and in the user's file of keys.
type ID string

// Command is something that the user can do. Its screen declares it, once.
type Command struct {
	ID ID
	// Meaning has its title and its keys. The user may give it other keys.
	Meaning
	Help     string // a sentence
	Contexts []Context
	// Hint is the word that the line of hints has for it. Commands without one are not hinted.
	Hint string
	// Next is the hint of a command that the user probably wants next. It goes before the others; empty leaves it among them.
	// A nil Next is always empty.
	Next func() string
	// WhyNot is why the command can't be done now; empty if it can. A nil WhyNot is always empty.
	WhyNot func() string
	// Do does the command. What takes time is left to the tea.Cmd.
	Do func() tea.Cmd
}

// Call makes what a command does of a function that takes no time.
func Call(f func()) func() tea.Cmd {
	return func() tea.Cmd {
		f()
		return nil
	}
}

// With makes what a command does, or why it can't be done, of a function and its argument.
func With[A, R any](f func(A) R, a A) func() R { return func() R { return f(a) } }

// Then has after run after each of the commands.
func Then(commands []Command, after func() tea.Cmd) []Command {
	for i, do := range commands {
		commands[i].Do = func() tea.Cmd { return tea.Batch(do.Do(), after()) }
	}
	return commands
}

// Disabled is why the command can't be done now; empty if it can.
func (c *Command) Disabled() string {
	if c.WhyNot == nil {
		return ""
	}
	return c.WhyNot()
}

// Wanted is the command's hint while the user probably wants it next, or empty.
func (c *Command) Wanted() string {
	if c.Next == nil {
		return ""
	}
	return c.Next()
}

// In reports whether the command applies in a context.
func (c *Command) In(ctx Context) bool { return slices.Contains(c.Contexts, ctx) }

// KeysIn are the keys that count in a context: where the user types, characters don't.
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

// Shown writes keys as the screen has them.
func Shown(keys ...string) string {
	var names []string
	for _, key := range keys {
		if key == " " {
			key = "space"
		}
		names = append(names, key)
	}
	return strings.Join(names, " ")
}

// Table has all commands, in the order in which help lists them.
type Table struct {
	commands []*Command
	byKey    map[Context]map[string]*Command
	byID     map[ID]*Command
}

// New makes a table. It refuses a key that means two things in one context, and an ID twice.
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

// Resolve finds what a key means in a context, or nil.
func (t *Table) Resolve(ctx Context, key string) *Command { return t.byKey[ctx][key] }

// Lookup finds a command, or nil.
func (t *Table) Lookup(id ID) *Command { return t.byID[id] }

// Commands are all commands, in order.
func (t *Table) Commands() []*Command { return t.commands }

// In are the commands of a context, in order.
func (t *Table) In(ctx Context) []*Command {
	var in []*Command
	for _, c := range t.commands {
		if c.In(ctx) {
			in = append(in, c)
		}
	}
	return in
}
